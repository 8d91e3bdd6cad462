import type { RunDetails, RunSummary } from '../../../../src/core/contract/runs.js';
import type { MachineOutline } from './machine-outline.js';

type Step = RunDetails['steps'][number];
type RunStatus = RunSummary['status'];
type RunProgress = Pick<RunDetails, 'status' | 'step' | 'steps' | 'started_at'>;

/** Every status of a run, and its colour. */
export const STATUS_TONES: Readonly<Record<RunStatus, string>> = {
  REQUESTED: '',
  RUNNING: 'mark-accent',
  WAITING: 'mark-warn',
  CONVERGED: 'mark-good',
  ESCALATED: 'mark-warn',
  FAILED: 'mark-bad',
  CANCELLED: '',
};

const ENDED: ReadonlySet<RunStatus> = new Set(['CONVERGED', 'ESCALATED', 'FAILED', 'CANCELLED']);
export const hasEnded = ({ status }: Pick<RunSummary, 'status'>): boolean => ENDED.has(status);

/** The states of the machine in their order, with the handler whose steps belong to each. */
const HANDLERS = {
  ClaimEdge: 'claim_edge',
  LoadConfig: 'load_config',
  LoadContext: 'load_context',
  ConstructCandidate: 'construct_candidate',
  DeterministicChecks: 'run_check',
  AgentChecks: 'judge_check',
  HumanGate: 'request_review',
  JudgeIteration: 'judge_iteration',
  Promote: 'promote',
  Escalate: 'escalate',
} as const;
export type MachineStateName = keyof typeof HANDLERS;

/** States that run once, before the first iteration. */
const BEFORE_ITERATIONS: ReadonlySet<string> = new Set(['ClaimEdge', 'LoadConfig', 'LoadContext']);
/** The run ends in one of these. */
const ENDS: ReadonlySet<string> = new Set(['Promote', 'Escalate']);
/** A machine has these only if the edge has such checks. */
const TIERS: ReadonlySet<string> = new Set(['DeterministicChecks', 'AgentChecks', 'HumanGate']);

export const stateOf = (handler: string): MachineStateName | undefined =>
  (Object.keys(HANDLERS) as MachineStateName[]).find((name) => HANDLERS[name] === handler);

/** `stopped`: under way when the run ended. */
export type StateProgress = 'not reached' | 'running' | 'waiting' | 'completed' | 'failed' | 'stopped';

export interface ShownState {
  readonly name: MachineStateName;
  /** States of the part `iteration` are repeated. */
  readonly part: 'before' | 'iteration' | 'end';
  readonly progress: StateProgress;
  readonly isCurrent: boolean;
  /** The states of the iteration. */
  readonly steps: readonly Step[];
}

/** `run_check tests_pass`: the handler, and after the first space the name of the check. */
export function stepParts(step: string): { handler: string; check: string } {
  const space = step.indexOf(' ');
  return space < 0
    ? { handler: step, check: '' }
    : { handler: step.slice(0, space), check: step.slice(space + 1) };
}

/** The iterations that have steps; 1 before the first. */
export function iterationsOf({ steps }: Pick<RunDetails, 'steps'>): number[] {
  const found = new Set(steps.map(({ iteration }) => iteration));
  return found.size === 0 ? [1] : [...found].sort((a, b) => a - b);
}

/** The machine as it is in an iteration. While its document is not known, only states that every machine has, and those with steps. */
export function machineOf(run: RunProgress, iteration: number, outline: MachineOutline | null): ShownState[] {
  const current = iteration === iterationsOf(run).at(-1) ? currentHandler(run) : null;
  return (Object.keys(HANDLERS) as MachineStateName[]).flatMap((name): ShownState[] => {
    const handler = HANDLERS[name];
    const all = run.steps.filter((step) => stepParts(step.step).handler === handler);
    const isKnown = outline === null ? !TIERS.has(name) : outline.states.has(name);
    if (!isKnown && all.length === 0) return [];
    const part = BEFORE_ITERATIONS.has(name) ? 'before' : ENDS.has(name) ? 'end' : 'iteration';
    const steps = part === 'before' ? all : all.filter((step) => step.iteration === iteration);
    // Claiming is not a recorded step: a run that has started holds the edge.
    const isClaimed = name === 'ClaimEdge' && run.started_at !== null && steps.length === 0;
    const progress = isClaimed ? 'completed' : progressOf(steps, hasEnded(run));
    return [{ name, part, steps, progress, isCurrent: handler === current }];
  });
}

function currentHandler(run: RunProgress): string | null {
  if (hasEnded(run)) return null;
  const open = run.steps.findLast(({ status }) => status === 'RUNNING' || status === 'WAITING');
  const step = open?.step ?? run.step;
  return step === null ? null : stepParts(step).handler;
}

function progressOf(steps: readonly Step[], isRunEnded: boolean): StateProgress {
  const hasStatus = (status: Step['status']) => steps.some((step) => step.status === status);
  if (steps.length === 0) return 'not reached';
  if (hasStatus('FAILED')) return 'failed';
  if (isRunEnded && (hasStatus('WAITING') || hasStatus('RUNNING'))) return 'stopped';
  if (hasStatus('WAITING')) return 'waiting';
  return hasStatus('RUNNING') ? 'running' : 'completed';
}

/** The state to show first: what failed, what is under way, or what was reached last. */
export function stateToShow(states: readonly ShownState[]): MachineStateName {
  const found =
    states.find(({ isCurrent }) => isCurrent) ??
    states.find(({ progress }) => progress === 'failed') ??
    states.findLast(({ progress }) => progress !== 'not reached');
  return found?.name ?? 'ClaimEdge';
}

/** A check that has failed is a completed step. */
export const failedChecks = (steps: readonly Step[]): number =>
  steps.filter(({ status, output }) => status === 'COMPLETED' && isFailure(output?.result)).length;

const isFailure = (result: unknown): boolean => result === 'fail' || result === 'error';
