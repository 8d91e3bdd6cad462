/** Long work divided into steps: the caller may do other work between two of them. */
export type StepGenerator<T> = Generator<void, T>;

export function runAllSteps<T>(steps: StepGenerator<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
