import type { Explanation } from '../../../../src/core/contract/tasks.js';

interface RunnerCheck {
  readonly name: string;
  readonly hasPassed: boolean;
  /** The runner that signed the check, or why the check does not count. */
  readonly text: string;
}

/** The deterministic checks of the candidate of this generation; empty if the last candidate is of another generation. */
export function runnerChecks(
  explanation: Pick<Explanation, 'evidence'> | undefined,
  generation: number,
): RunnerCheck[] {
  const evidence = explanation?.evidence;
  if (evidence?.candidate?.generation !== generation) return [];
  return [
    ...evidence.passed.map(({ name, runner_id }) => ({
      name,
      hasPassed: true,
      text: `by runner ${runner_id}`,
    })),
    ...evidence.missing.map(({ name, says }) => ({ name, hasPassed: false, text: says })),
  ];
}
