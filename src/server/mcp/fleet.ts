import type { Explanation } from '../../coordinator/explain.js';
import type { Fault } from '../../coordinator/problem.js';
import type {
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
  SubmitBody,
} from '../../coordinator/wire.js';
import type { ProjectStatus, TaskState } from '../../core/views/index.js';

/** What a holder must show. A model passes it on by hand: no session of the protocol keeps it. */
export interface Handle {
  readonly task_id: string;
  readonly generation: number;
  readonly claim_id: string;
  readonly session_id: string;
}

export interface Taker {
  readonly agent_id: string;
  readonly session_id: string;
  readonly lease_duration_seconds?: number | undefined;
  readonly agent_role?: string | undefined;
}
/** A task by its id, or an edge of a feature: by both names, or by `FEATURE#EDGE` as an id. */
export interface Named {
  readonly task_id?: string | undefined;
  readonly feature_id?: string | undefined;
  readonly edge?: string | undefined;
}
/** A result, and how the checks of an edge came out. */
export type Handed = Pick<SubmitBody, 'evaluators' | 'iteration'> & { readonly result_data: unknown };
export interface NextAsk extends Taker {
  readonly track?: string | undefined;
  readonly wait_seconds?: number | undefined;
}
export interface ReleaseAsk {
  readonly reason?: 'VOLUNTARY' | 'ERROR' | undefined;
  readonly message?: string | undefined;
}

/** What is wrong with a call or on the way to where it is decided, as opposed to a refusal. */
export interface Trouble {
  readonly problem: string;
  readonly detail: string;
  readonly faults?: readonly Fault[] | undefined;
}

export const isTrouble = (reply: object): reply is Trouble => 'problem' in reply;

type Reply<T> = Promise<T | Trouble>;

/** One project, as the tools see it: in this process, or behind a server's address. */
export interface Fleet {
  next(ask: NextAsk): Reply<ClaimResult>;
  claim(named: Named, taker: Taker): Reply<ClaimResult>;
  renew(handle: Handle, lease_duration_seconds?: number): Reply<RenewalResult>;
  submit(handle: Handle, handed: Handed): Reply<SubmissionResult>;
  release(handle: Handle, ask: ReleaseAsk): Reply<ReleaseResult>;
  note(handle: Handle, text: string): Reply<ReleaseResult>;
  task(task_id: string): Reply<TaskState>;
  status(): Reply<ProjectStatus>;
  explain(task_id: string): Reply<Explanation>;
}
