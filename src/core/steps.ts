/** Long work, cut into steps: whoever has others to serve does so between any two. */
export type StepGenerator<T> = Generator<void, T>;

/** All of it at once. */
export function runAllSteps<T>(steps: StepGenerator<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
