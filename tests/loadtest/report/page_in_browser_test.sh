#!/usr/bin/env bash
# The HTML report in a browser: its script runs without an error, every plot is drawn, values
# follow the pointer, and names from outside stay text.  No network is needed or asked for.
#
#   page_in_browser_test.sh WRITE_SAMPLE_REPORT
set -uo pipefail
write=$PWD/$1
work=$TEST_TMPDIR
passed=0 failed=0

command -v chromium >/dev/null || {
  echo "chromium is not installed; tests/run.sh installs what tests need"
  exit 1
}
export HOME=$work
"$write" "$work" || exit 1

check() {  # WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "not so: $what"
  fi
}

# The page as the browser sees it once its scripts have run, and what it said meanwhile.
dump() {  # PAGE
  timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --no-first-run --disable-background-networking --disable-component-update --disable-sync \
    --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$work/profile" \
    --window-size=1000,900 --enable-logging=stderr --v=0 --dump-dom "file://$work/$1.html" \
    >"$work/$1.dom" 2>"$work/$1.log" || { tail -n 20 "$work/$1.log"; return 1; }
  ! grep CONSOLE "$work/$1.log"
}

has() { grep -qF -- "$2" "$work/$1.dom"; }
lacks() { ! grep -qF -- "$2" "$work/$1.dom"; }
# A path of class CSS, with coordinates, in the plot ID.
draws() {  # PAGE ID CSS
  grep -F "id=\"$2\"" "$work/$1.dom" | grep -qE "class=\"([a-z]+ )?$3\" d=\"M[0-9]"
}

# The pointer goes to the middle of each plot that can be seen; what it is told is kept.
cat >"$work/pointer.html" <<'END'
<script>
for (const plot of document.querySelectorAll('.wide svg[data-xs]')) {
  const box = plot.getBoundingClientRect();
  plot.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width / 2,
                                                      clientY: box.top + box.height / 2}));
  const tip = plot.closest('figure').querySelector('.tip');
  plot.dataset.told = tip.style.display + ' ' + tip.textContent;
}
</script>
END
cat "$work/pointer.html" >>"$work/sample.html"

check "the page loads without a complaint" dump sample
check "its script ran to the end over all plots" has sample 'data-script="ready 8"'
check "no error reached the page" lacks sample 'data-error='
for size in wide narrow; do
  for css in p50 p90 p99 max limit faultline; do
    check "latency over time, $size, draws $css" draws sample "latency-over-time-$size" $css
  done
  for css in whole degraded failed intended ended; do
    check "throughput over time, $size, draws $css" draws sample "throughput-over-time-$size" $css
  done
  for css in all series1 series2 series3 'all rest'; do
    check "percentile curve, $size, draws $css" draws sample "percentile-curve-$size" "$css"
  done
  for css in p90 ideal kneeline capacityline notmet; do
    check "saturation curve, $size, draws $css" draws sample "saturation-curve-$size" $css
  done
  for css in p50 p99 limit; do
    check "latency over rate, $size, draws $css" draws sample "latency-over-rate-$size" $css
  done
  check "stages, $size, are drawn" has sample "id=\"stage-breakdown-$size\""
done
check "bars have their parts" has sample '<rect class="stage-rerank"'
check "latency is told under the pointer" grep -qE 'data-told="block 3[0-9]srequests[0-9]+p50' \
  "$work/sample.dom"
check "throughput is told under the pointer" grep -qE 'data-told="block 3[0-9]sintended[0-9]+' \
  "$work/sample.dom"
check "rates are told under the pointer" grep -qE 'data-told="block [0-9]+/sanswered[0-9]+' \
  "$work/sample.dom"

check "a page with hostile names loads without a complaint" dump hostile
check "hostile names do not run" lacks hostile '<title>broken</title>'
check "hostile names make no elements" lacks hostile '<img'
check "the script ran among hostile names" has hostile 'data-script="ready 8"'

check "a page without measurements loads without a complaint" dump empty
check "it has no plots to follow" has empty 'data-script="ready 0"'

echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
