/** Long work that can run in slices: it pauses wherever it yields, and the caller may then do other work. */
export type SliceableWork<T> = Generator<void, T>;

/** Runs the work in one slice. */
export function runAtOnce<T>(work: SliceableWork<T>): T {
  for (;;) {
    const pause = work.next();
    if (pause.done === true) return pause.value;
  }
}
