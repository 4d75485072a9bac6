#include "common/scenes/scene_plan.h"

#include <algorithm>

namespace sightline {
namespace {

constexpr int kCell = kSceneSide / 2;
constexpr int kGap = 2;  // between copies
constexpr int kWordWidth = 104, kWordHeight = 28;

// Where something may lie, and around which middle.
struct Region {
  SceneBox box;
  int middle_x() const { return box.x + box.width / 2; }
  int middle_y() const { return box.y + box.height / 2; }
};

// Without the pixel on each side that remains free.
Region Inner(int x, int y, int width, int height) {
  return {{x + 1, y + 1, width - 2, height - 2}};
}
Region Cell(int column, int row) {
  return Inner(column * kCell, row * kCell, kCell, kCell);
}
Region Row(int row) {
  return Inner(0, row * kCell, kSceneSide, kCell);
}
Region Column(int column) {
  return Inner(column * kCell, 0, kCell, kSceneSide);
}

bool IsUpright(SceneRelation relation) {
  return relation == SceneRelation::kAbove || relation == SceneRelation::kBelow;
}

// The cell at `place` of the row, or column, `line`.
Region CellOfLine(bool column, int line, int place) {
  return column ? Cell(line, place) : Cell(place, line);
}

// The upper left corner of something that is moved from the region's middle and kept inside.
SceneBox Place(int width, int height, const Region& region, ScenePlan::Jitter jitter) {
  const SceneBox& box = region.box;
  const int x = region.middle_x() - width / 2 + jitter.x;
  const int y = region.middle_y() - height / 2 + jitter.y;
  return {std::clamp(x, box.x, box.x + box.width - width),
          std::clamp(y, box.y, box.y + box.height - height), width, height};
}

// How far apart, in one way, `count` copies reach.
int Extent(int side, int count) {
  return count * side + (count - 1) * kGap;
}

void SetCopies(const std::vector<SceneBox>& copies, SceneObject* object) {
  object->copies = copies;
  SceneBox& box = object->box;
  box = copies.front();
  for (const SceneBox& copy : copies) {
    const int right = std::max(box.x + box.width, copy.x + copy.width);
    const int bottom = std::max(box.y + box.height, copy.y + copy.height);
    box.x = std::min(box.x, copy.x);
    box.y = std::min(box.y, copy.y);
    box.width = right - box.x;
    box.height = bottom - box.y;
  }
}

// One, two beside each other, or two rows of two, of which three leave the lower one one.
void PlaceInCell(const Region& region, ScenePlan::Jitter jitter, SceneObject* object) {
  const int side = SideOf(object->size), pitch = side + kGap, count = object->count;
  const SceneBox all =
      Place(Extent(side, std::min(count, 2)), Extent(side, (count + 1) / 2), region, jitter);
  std::vector<SceneBox> copies;
  for (int i = 0; i < count; ++i) {
    const bool alone = count == 3 && i == 2;
    const int x = alone ? (all.width - side) / 2 : i % 2 * pitch;
    copies.push_back({all.x + x, all.y + i / 2 * pitch, side, side});
  }
  SetCopies(copies, object);
}

void PlaceInRow(int middle, int top, SceneObject* object) {
  const int side = SideOf(object->size);
  const int left = middle - Extent(side, object->count) / 2;
  std::vector<SceneBox> copies;
  for (int i = 0; i < object->count; ++i) {
    copies.push_back({left + i * (side + kGap), top, side, side});
  }
  SetCopies(copies, object);
}

void PlaceInFront(const Region& region, ScenePlan::Jitter jitter, SceneObject* front,
                  SceneObject* back) {
  const int front_side = SideOf(front->size), seen = SideOf(back->size) * 5 / 8;
  const int width =
      std::max(Extent(front_side, front->count), Extent(SideOf(back->size), back->count));
  const SceneBox both = Place(width, seen + front_side, region, jitter);
  const int middle = both.x + both.width / 2;
  PlaceInRow(middle, both.y, back);
  PlaceInRow(middle, both.y + seen, front);
  front->layer = 1;
}

void PlacePair(const ScenePlan& plan, std::vector<SceneObject>* objects) {
  SceneObject *first = &(*objects)[0], *second = &(*objects)[1];
  switch (plan.relation) {
    case SceneRelation::kInFrontOf:
      PlaceInFront(Row(plan.line), plan.jitter[0], first, second);
      return;
    case SceneRelation::kRightOf:
    case SceneRelation::kBelow:
      std::swap(first, second);
      break;
    case SceneRelation::kLeftOf:
    case SceneRelation::kAbove:
      break;
  }
  const bool column = IsUpright(plan.relation);
  PlaceInCell(CellOfLine(column, plan.line, 0), plan.jitter[0], first);
  PlaceInCell(CellOfLine(column, plan.line, 1), plan.jitter[1], second);
}

void PlaceOthers(const ScenePlan& plan, std::vector<SceneObject>* objects) {
  const int count = static_cast<int>(objects->size()), line = 1 - plan.line;
  if (count == 3 && plan.relation == SceneRelation::kInFrontOf) {
    PlaceInCell(Row(line), plan.jitter[2], &(*objects)[2]);
    return;
  }
  for (int i = 2; i < count; ++i) {
    const int place = i == 2 ? plan.corner : 1 - plan.corner;
    PlaceInCell(CellOfLine(IsUpright(plan.relation), line, place), plan.jitter[i], &(*objects)[i]);
  }
}

SceneBox PlaceWord(const ScenePlan& plan) {
  const int line = 1 - plan.line;
  const bool column = IsUpright(plan.relation);
  Region region = column ? Column(line) : Row(line);
  if (plan.objects.size() == 3) region = CellOfLine(column, line, 1 - plan.corner);
  return Place(kWordWidth, kWordHeight, region, {});
}

}  // namespace

bool HasRoomForWord(int objects, SceneRelation relation) {
  return objects == 2 || (objects == 3 && relation != SceneRelation::kInFrontOf);
}

SceneGraph LayOut(const ScenePlan& plan) {
  SceneGraph scene;
  for (const ObjectPlan& planned : plan.objects) {
    SceneObject object;
    object.noun = planned.noun;
    object.drawing = planned.drawing;
    object.tint = planned.tint;
    object.size = planned.size;
    object.count = planned.count;
    scene.objects.push_back(std::move(object));
  }
  PlacePair(plan, &scene.objects);
  PlaceOthers(plan, &scene.objects);
  if (!plan.word.empty()) scene.word = {plan.word, PlaceWord(plan)};
  return scene;
}

}  // namespace sightline
