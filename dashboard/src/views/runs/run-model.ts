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

const END_STATUSES: ReadonlySet<RunStatus> = new Set(['CONVERGED', 'ESCALATED', 'FAILED', 'CANCELLED']);
export const hasEnded = ({ status }: Pick<RunSummary, 'status'>): boolean => END_STATUSES.has(status);

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
/** The states in which a run ends. */
const END_STATES: ReadonlySet<string> = new Set(['Promote', 'Escalate']);
/** The states that a machine has only if the edge has such checks. */
const CHECK_STATES: ReadonlySet<string> = new Set(['DeterministicChecks', 'AgentChecks', 'HumanGate']);

export const stateOf = (handler: string): MachineStateName | undefined =>
  (Object.keys(HANDLERS) as MachineStateName[]).find((name) => HANDLERS[name] === handler);

/** `stopped`: the state was in progress when the run ended. */
export type StateProgress = 'not reached' | 'running' | 'waiting' | 'completed' | 'failed' | 'stopped';

export interface ShownState {
  readonly name: MachineStateName;
  /** States of the part `iteration` are repeated. */
  readonly part: 'before' | 'iteration' | 'end';
  readonly progress: StateProgress;
  readonly isCurrent: boolean;
  /** The steps of the state in the iteration; all its steps if it is before the iterations. */
  readonly steps: readonly Step[];
}

/** `run_check tests_pass`: the handler, and after the first space the name of the check. */
export function stepParts(step: string): { handler: string; check: string } {
  const space = step.indexOf(' ');
  return space < 0
    ? { handler: step, check: '' }
    : { handler: step.slice(0, space), check: step.slice(space + 1) };
}

/** The iterations that have steps; only 1 if there are no steps. */
export function iterationsOf({ steps }: Pick<RunDetails, 'steps'>): number[] {
  const iterations = new Set(steps.map(({ iteration }) => iteration));
  return iterations.size === 0 ? [1] : [...iterations].sort((a, b) => a - b);
}

/**
 * The states of the machine in an iteration. Without an outline, only the states that every machine has and those with
 * steps.
 */
export function machineOf(run: RunProgress, iteration: number, outline: MachineOutline | null): ShownState[] {
  const current = iteration === iterationsOf(run).at(-1) ? currentHandler(run) : null;
  return (Object.keys(HANDLERS) as MachineStateName[]).flatMap((name): ShownState[] => {
    const handler = HANDLERS[name];
    const stateSteps = run.steps.filter((step) => stepParts(step.step).handler === handler);
    const isShown = outline === null ? !CHECK_STATES.has(name) : outline.states.has(name);
    if (!isShown && stateSteps.length === 0) return [];
    const part = BEFORE_ITERATIONS.has(name) ? 'before' : END_STATES.has(name) ? 'end' : 'iteration';
    const steps = part === 'before' ? stateSteps : stateSteps.filter((step) => step.iteration === iteration);
    // The claim is not recorded as a step, but a run that has started holds the edge.
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

/** The state to show first: the current state, the first that failed, or the last that was reached. */
export function stateToShow(states: readonly ShownState[]): MachineStateName {
  const state =
    states.find(({ isCurrent }) => isCurrent) ??
    states.find(({ progress }) => progress === 'failed') ??
    states.findLast(({ progress }) => progress !== 'not reached');
  return state?.name ?? 'ClaimEdge';
}

/** The number of failed checks. The step of a failed check is completed. */
export const failedCheckCount = (steps: readonly Step[]): number =>
  steps.filter(({ status, output }) => status === 'COMPLETED' && isFailure(output?.result)).length;

const isFailure = (result: unknown): boolean => result === 'fail' || result === 'error';
