#include "loadtest/report/html_page.h"

#include "absl/strings/str_cat.h"
#include "loadtest/report/xml_text.h"

namespace sightline {
namespace {

// Colours: series are told apart by lightness as well as by hue, so that they hold up for
// colour-blind readers and on grey paper; text has a contrast of 4.5 and more, lines of 3.
constexpr char kStyle[] = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f6f3; --card: #ffffff; --ink: #14140f; --soft: #55544e; --rule: #dddcd5;
  --grid: #e9e8e2; --axis: #a3a29a;
  --p50: #5b9be6; --p90: #2264bd; --p99: #0b2f66; --max: #85847c;
  --whole: #a9cbf2; --degraded: #e8a300; --failed: #c4302b; --ended: #14140f;
  --s1: #2a78d6; --s2: #b05a00; --s3: #11845b; --s4: #7a48c4; --s5: #c2347a; --s6: #6b6a63;
  --encode: #2f6fc4; --search: #7fb9a0; --rerank: #e6b23c; --fetch: #8a63c9; --other: #c96f9b;
  --rest: #cfcec6; --on-dark: #ffffff; --on-light: #14140f;
  --good: #1a6b1f; --good-wash: #e4f2e2; --bad: #a61b17; --bad-wash: #fbe7e4;
  --unsure: #7a4d00; --unsure-wash: #fdf0d2;
  --fault: #c4302b; --warmup: #8d8c84;
}
@media (prefers-color-scheme: dark) { :root {
  --page: #101010; --card: #1b1b1a; --ink: #f2f1ec; --soft: #b5b4ac; --rule: #3a3936;
  --grid: #2b2b29; --axis: #6c6b65;
  --p50: #3574c9; --p90: #74aaf0; --p99: #cfe2fb; --max: #8f8e86;
  --whole: #2b5c9c; --degraded: #d89a14; --failed: #ef6a60; --ended: #f2f1ec;
  --s1: #5c9ceb; --s2: #e59a4a; --s3: #3fb98a; --s4: #ad8bec; --s5: #ea7fb2; --s6: #a3a29a;
  --encode: #4a8ae0; --search: #2f7d63; --rerank: #b98414; --fetch: #9a78d8; --other: #b85c88;
  --rest: #4a4945;
  --good: #7fd083; --good-wash: #16301a; --bad: #ff9b92; --bad-wash: #3b1a18;
  --unsure: #f0c15c; --unsure-wash: #352709;
  --fault: #ff7b70; --warmup: #8d8c84;
} }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 10px; }
p { margin: 0 0 8px; }
.lead, figcaption, .quiet { color: var(--soft); }
.lead { overflow-wrap: anywhere; margin-bottom: 16px; }
section, figure { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  margin: 16px 0 0; padding: 16px 18px; }
.banner { display: flex; gap: 14px; align-items: center; border-radius: 10px; padding: 14px 18px;
  border-left: 6px solid currentColor; }
.banner .mark { font-size: 28px; line-height: 1; font-weight: 700; }
.banner .word { font-size: 20px; font-weight: 700; line-height: 1.2; }
.banner p { margin: 2px 0 0; color: var(--ink); }
.pass, .held { color: var(--good); } .fail, .broken { color: var(--bad); }
.inconclusive, .notmeasurable { color: var(--unsure); }
.banner.pass { background: var(--good-wash); } .banner.fail { background: var(--bad-wash); }
.banner.inconclusive { background: var(--unsure-wash); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(100px, 1fr)); gap: 10px;
  margin: 16px 0 0; padding: 0; }
.tiles div { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 10px 12px; }
.tiles dt { color: var(--soft); font-size: 13px; }
.tiles dd { margin: 0; font-size: 20px; font-weight: 600; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; overflow-wrap: break-word; max-width: 32em; }
th { color: var(--soft); font-weight: 600; font-size: 13px; white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; }
tr > :last-child { padding-right: 0; }
tbody tr:last-child td { border-bottom: 0; }
td.short { white-space: nowrap; }
td:not(.short):not(.n):not(.state) { min-width: 14em; }
.scroll + .scroll, .pair > div + div { margin-top: 12px; }
@media (min-width: 641px) { .pair > div:nth-child(2) { margin-top: 0; } }
td.state { white-space: nowrap; font-weight: 600; }
figure { margin: 16px 0 0; position: relative; }
figcaption { font-size: 13.5px; margin-top: 8px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; margin: 0 0 8px;
  padding: 0; font-size: 13px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 6px; overflow-wrap: anywhere; }
.legend svg { width: 22px; height: 12px; flex: none; }
svg.plot { display: block; width: 100%; height: auto; overflow: visible; }
.narrow { display: none; }
@media (max-width: 640px) { .wide { display: none; } .narrow { display: block; }
  section, figure { padding: 14px 12px; } th, td { padding-right: 10px; } }
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  fill: var(--soft); font-variant-numeric: tabular-nums; }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.unit { font-size: 11.5px; }
.note { font-size: 11.5px; fill: var(--ink); paint-order: stroke; stroke: var(--card);
  stroke-width: 3px; stroke-linejoin: round; }
.strong { font-weight: 600; }
.rowname { font-size: 13px; fill: var(--ink); }
.grid { stroke: var(--grid); fill: none; } .axis { stroke: var(--axis); fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.p50 { stroke: var(--p50); } .p90 { stroke: var(--p90); } .p99 { stroke: var(--p99); }
.max { stroke: var(--max); stroke-width: 1.3; stroke-dasharray: 1 3; }
.limit { stroke: var(--bad); fill: none; stroke-width: 1.5; stroke-dasharray: 6 4; }
.limitmark { stroke: var(--bad); fill: none; stroke-width: 2; }
.area { stroke: none; }
.whole { fill: var(--whole); } .degraded { fill: var(--degraded); } .failed { fill: var(--failed); }
.intended { stroke: var(--p90); stroke-width: 1.5; }
.ended { stroke: var(--ended); stroke-width: 1.3; stroke-dasharray: 4 3; }
.warmup { fill: var(--warmup); fill-opacity: .18; }
.fault { fill: var(--fault); fill-opacity: .2; }
.recovering { fill: var(--fault); fill-opacity: .09; }
.faultline { stroke: var(--fault); stroke-width: 1.5; fill: none; }
.faultname { font-weight: 600; }
.all { stroke: var(--ink); stroke-width: 2.4; }
.series1 { stroke: var(--s1); } .series2 { stroke: var(--s2); stroke-dasharray: 8 4; }
.series3 { stroke: var(--s3); stroke-dasharray: 2 4; }
.series4 { stroke: var(--s4); stroke-dasharray: 10 3 2 3; }
.series5 { stroke: var(--s5); stroke-dasharray: 5 3; }
.series6 { stroke: var(--s6); stroke-dasharray: 12 5; }
.line.rest { stroke-width: 1.4; stroke-dasharray: 1 4; }
.stage-encode { fill: var(--encode); } .stage-search { fill: var(--search); }
.stage-rerank { fill: var(--rerank); } .stage-fetch { fill: var(--fetch); }
.stage-other { fill: var(--other); } .stage-rest { fill: var(--rest); }
.parttext { fill: var(--on-light); }
.on-stage-encode, .on-stage-fetch { fill: var(--on-dark); }
.ideal { stroke: var(--max); stroke-width: 1.2; }
.holds { fill: var(--good); fill-opacity: .08; }
.capacityline { stroke: var(--good); stroke-width: 1.6; fill: none; }
.kneeline { stroke: var(--soft); stroke-width: 1.6; stroke-dasharray: 2 3; fill: none; }
.met { fill: var(--good); stroke: var(--card); stroke-width: 1.5; }
.notmet { stroke: var(--bad); stroke-width: 2.2; fill: none; stroke-linecap: round; }
.cursor { stroke: var(--ink); stroke-width: 1; stroke-opacity: .55; }
.tip { position: absolute; z-index: 1; pointer-events: none; display: none; background: var(--card);
  color: var(--ink); border: 1px solid var(--axis); border-radius: 8px; padding: 6px 10px;
  font-size: 12.5px; line-height: 1.45; box-shadow: 0 2px 10px rgba(0, 0, 0, .18); }
.tip b { display: block; }
.tip span { display: flex; justify-content: space-between; gap: 14px;
  font-variant-numeric: tabular-nums; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); gap: 0 36px; }
@media (prefers-color-scheme: dark) { .parttext { fill: var(--on-dark); }
  .on-stage-encode, .on-stage-rerank, .on-stage-fetch, .on-stage-other { fill: var(--on-light); } }
@media print {
  :root { --page: #fff; }
  body { font-size: 11pt; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  section, figure, .banner, tr { break-inside: avoid; }
  .wide { display: block; } .narrow, .tip { display: none; }
}
)css";

// Values under the pointer.  A figure carries its table, each plot the places of its rows.
constexpr char kScript[] = R"js(
'use strict';
(function () {
  const root = document.documentElement;
  window.addEventListener('error', function (event) { root.dataset.error = event.message; });
  const svgNames = 'http://www.w3.org/2000/svg';
  function nearest(xs, x) {
    let best = 0;
    for (let i = 1; i < xs.length; ++i) {
      if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    }
    return best;
  }
  function fill(tip, names, cells) {
    tip.textContent = '';
    const head = document.createElement('b');
    head.textContent = cells[0];
    tip.append(head);
    for (let i = 1; i < names.length; ++i) {
      const line = document.createElement('span');
      const value = document.createElement('span');
      line.textContent = names[i];
      value.textContent = cells[i];
      line.append(value);
      tip.append(line);
    }
  }
  function follow(figure, plot) {
    const rows = figure.dataset.hover.split('\n').map(function (row) { return row.split('\t'); });
    const xs = plot.dataset.xs.split(' ').map(Number);
    const tip = figure.querySelector('.tip');
    const cursor = document.createElementNS(svgNames, 'path');
    cursor.setAttribute('class', 'cursor');
    plot.append(cursor);
    function hide() { tip.style.display = 'none'; cursor.removeAttribute('d'); }
    plot.addEventListener('pointerleave', hide);
    plot.addEventListener('pointermove', function (event) {
      const box = plot.getBoundingClientRect();
      const scale = plot.viewBox.baseVal.width / box.width;
      const at = nearest(xs, (event.clientX - box.left) * scale);
      cursor.setAttribute('d', 'M' + xs[at] + ' ' + plot.dataset.top + 'V' + plot.dataset.bottom);
      fill(tip, rows[0], rows[at + 1]);
      tip.style.display = 'block';
      const outer = figure.getBoundingClientRect();
      const x = box.left - outer.left + xs[at] / scale;
      const room = outer.width - tip.offsetWidth - 8;
      tip.style.left = Math.max(8, x + 12 > room ? Math.min(x - 12 - tip.offsetWidth, room)
                                                 : x + 12) + 'px';
      tip.style.top = (box.top - outer.top + 34) + 'px';
    });
  }
  let plots = 0;
  for (const figure of document.querySelectorAll('figure[data-hover]')) {
    for (const plot of figure.querySelectorAll('svg[data-xs]')) {
      follow(figure, plot);
      ++plots;
    }
  }
  root.dataset.script = 'ready ' + plots;
})();
)js";

}  // namespace

std::string HtmlPage(absl::string_view title, absl::string_view body) {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      XmlText(title), "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n<main>\n", body,
      "</main>\n<script>", kScript, "</script>\n</body>\n</html>\n");
}

}  // namespace sightline
