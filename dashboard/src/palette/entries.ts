/** Something that the palette finds: a view, a command, or an object of the project. */
export interface PaletteEntry {
  readonly kind: EntryKind;
  readonly name: string;
  /** Text that is searched, and shown beside the name. */
  readonly detail: string;
  readonly open: () => void;
}
export type EntryKind = 'view' | 'command' | 'task' | 'edge' | 'agent' | 'run' | 'project';

/** Shown before anything is typed. */
const SHOWN_FIRST: ReadonlySet<EntryKind> = new Set(['view', 'command']);

export interface FoundEntries {
  readonly shown: readonly PaletteEntry[];
  /** How many more entries match. */
  readonly moreCount: number;
}

/** The entries that have every word of the text, best first: the name itself, its beginning, a part of it, other fields. */
export function findEntries(entries: readonly PaletteEntry[], text: string, max: number): FoundEntries {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') {
    const first = entries.filter(({ kind }) => SHOWN_FIRST.has(kind));
    return { shown: first.slice(0, max), moreCount: Math.max(0, first.length - max) };
  }
  const words = wanted.split(/\s+/);
  const byRank: PaletteEntry[][] = [[], [], [], []];
  for (const entry of entries) {
    const name = entry.name.toLowerCase();
    const searchedText = `${name} ${entry.detail.toLowerCase()}`;
    if (!words.every((word) => searchedText.includes(word))) continue;
    const rank = name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3;
    byRank[rank]?.push(entry);
  }
  const matches = byRank.flat();
  return { shown: matches.slice(0, max), moreCount: Math.max(0, matches.length - max) };
}
