const TRACKS = 'ABCDEFGHIJ';
const TASKS_PER_TRACK = 100;
/** Number of tasks of a track that can be worked on at the same time. */
const CHAINS_PER_TRACK = 5;
const PARTS = ['parser', 'index', 'cache', 'report', 'import', 'search', 'export'];

interface PageTask {
  readonly id: string;
  readonly description: string;
  readonly depends_on: readonly string[];
}

const idOf = (track: string, index: number): string => `${track}-${String(index + 1).padStart(3, '0')}-step`;

/** Tasks of one track. Each depends on the task before it in its chain. */
const tasksOf = (track: string): PageTask[] =>
  Array.from({ length: TASKS_PER_TRACK }, (_, index) => ({
    id: idOf(track, index),
    description: `write the ${PARTS[index % PARTS.length]} of step ${index + 1} in track ${track}`,
    depends_on: index < CHAINS_PER_TRACK ? [] : [idOf(track, index - CHAINS_PER_TRACK)],
  }));

/** A plan of 1,000 tasks: 10 tracks of 100. */
export const BENCH_TRACKS: Readonly<Record<string, readonly PageTask[]>> = Object.fromEntries(
  [...TRACKS].map((track) => [track, tasksOf(track)]),
);

export const BENCH_TASKS: readonly PageTask[] = Object.values(BENCH_TRACKS).flat();

/** The tasks that one agent does one after the other: 50 chains of 20. */
export const BENCH_CHAINS: readonly (readonly string[])[] = [...TRACKS].flatMap((track) =>
  Array.from({ length: CHAINS_PER_TRACK }, (_, chain) =>
    Array.from({ length: TASKS_PER_TRACK / CHAINS_PER_TRACK }, (_, step) =>
      idOf(track, chain + step * CHAINS_PER_TRACK),
    ),
  ),
);
