/** The parts of a compiled machine that the page shows. */
export interface MachineOutline {
  readonly states: ReadonlySet<string>;
  /** The steps of the machine's checks: `run_check tests_pass`. */
  readonly checkSteps: readonly string[];
}

const TIERS = { DeterministicChecks: 'run_check', AgentChecks: 'judge_check' } as const;

/** Null if the text is not a machine. */
export function machineOutline(text: string): MachineOutline | null {
  const states = fieldOf(parseOrNull(text), 'States');
  if (!isRecord(states)) return null;
  const checkSteps = Object.entries(TIERS).flatMap(([tier, handler]) =>
    checkNames(states[tier]).map((name) => `${handler} ${name}`),
  );
  if (isRecord(states.HumanGate)) checkSteps.push('request_review');
  return { states: new Set(Object.keys(states)), checkSteps };
}

/** The names of the checks in a tier. It has a branch per check, and the task of the branch has the name. */
function checkNames(tier: unknown): string[] {
  const branches = fieldOf(tier, 'Branches');
  if (!Array.isArray(branches)) return [];
  return branches.flatMap((branch) => {
    const tasks = Object.values(Object(fieldOf(branch, 'States')));
    const names = tasks.map((task) => fieldOf(fieldOf(task, 'Parameters'), 'check'));
    return names.filter((name) => typeof name === 'string');
  });
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
const fieldOf = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);
