import { addItemFault } from './assign-ids.js';
import type { SourceDocument, SourceItem } from './source-item.js';

/**
 * The dependencies to write for each item. An item without an entry follows the rule of every plan: it waits for the
 * previous task of its track. If a reference names no item of the document, a required reference is a fault, any other a
 * warning.
 */
export function resolveDependencies(
  document: SourceDocument,
  idByItem: ReadonlyMap<SourceItem, string>,
  warnings: string[],
): Map<SourceItem, readonly string[]> {
  const { items, is_ordered } = document;
  const findItem = itemFinder(items, idByItem, is_ordered);
  const previousBySequence = previousIds([...idByItem.values()].sort());
  const previousInFile = previousIds(items.flatMap((item) => idByItem.get(item) ?? []));
  const dependencies = new Map<SourceItem, readonly string[]>();
  for (const [item, id] of idByItem) {
    const previousId = previousInFile.get(id);
    if (item.references.length > 0)
      dependencies.set(item, referencedTaskIds(document, item, findItem, idByItem, warnings));
    else if (!is_ordered) dependencies.set(item, []);
    // An item that was inserted later has a sequence that differs from its place in the file, so the dependency is written
    // explicitly.
    else if (previousId !== previousBySequence.get(id))
      dependencies.set(item, previousId === undefined ? [] : [previousId]);
  }
  return dependencies;
}

/** The previous id in the same track, by id. */
function previousIds(ids: readonly string[]): Map<string, string | undefined> {
  const previousById = new Map<string, string | undefined>();
  const lastByTrack = new Map<string, string>();
  for (const id of ids) {
    const track = id.split('-')[0] ?? '';
    previousById.set(id, lastByTrack.get(track));
    lastByTrack.set(track, id);
  }
  return previousById;
}

function referencedTaskIds(
  { faults }: SourceDocument,
  item: SourceItem,
  findItem: (text: string) => SourceItem | null,
  idByItem: ReadonlyMap<SourceItem, string>,
  warnings: string[],
): string[] {
  const taskIds = new Set<string>();
  for (const { text, is_required } of item.references) {
    const target = findItem(text);
    // An item that is done already has no task, and nothing waits for it.
    const id = target === null ? undefined : idByItem.get(target);
    if (id !== undefined) taskIds.add(id);
    if (target !== null) continue;
    const message = `${item.original_id} depends on ${JSON.stringify(text)}, which is not in the file`;
    if (is_required)
      addItemFault(faults, 'UNKNOWN_DEPENDENCY', item, `${message}. Name an item by its id or its text.`);
    else warnings.push(`${message}: the dependency was left out.`);
  }
  return [...taskIds];
}

/** Finds an item by its id, its task id or its text; in a checklist also by its position (`#3`). */
function itemFinder(
  items: readonly SourceItem[],
  idByItem: ReadonlyMap<SourceItem, string>,
  isOrdered: boolean,
): (text: string) => SourceItem | null {
  const byName = new Map<string, SourceItem>();
  const addName = (name: string, item: SourceItem) => {
    const key = name.toLowerCase();
    if (!byName.has(key)) byName.set(key, item);
  };
  for (const item of items) addName(item.original_id, item);
  for (const [item, id] of idByItem) addName(id, item);
  for (const item of items) addName(item.title, item);
  return (text) => {
    const name = text.replace(/^#/, '').toLowerCase();
    const atPosition = isOrdered && /^\d{1,6}$/.test(name) ? items[Number(name) - 1] : undefined;
    return byName.get(name) ?? byName.get(text.toLowerCase()) ?? atPosition ?? null;
  };
}
