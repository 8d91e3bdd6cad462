import type { SpentByScope } from '../../core/engine/budget.js';
import type { EdgePlan } from '../../core/engine/edge-plan.js';
import type { ChangedFile } from '../../core/engine/guarded-check-files.js';
import type { AuthorityDecision } from '../../core/methodology/definition/authority.js';
import type { ResultManifest } from '../../core/methodology/definition/manifest.js';
import type { ExecuteCheck, WorkCopy } from '../checks/check-execution.js';
import type { Constructor } from '../constructors/constructor.js';
import type { LoadedContext } from '../context/load-context.js';
import type { EdgeCoordination } from '../coordination.js';
import type { Evaluator } from '../evaluators/evaluator.js';
import type { PromptText } from '../prompts/build-prompt.js';
import type { RunBlobs } from '../run-blobs.js';

export interface ClaimOfRun {
  readonly generation: number;
  readonly claim_id: string;
  readonly session_id: string;
}

/** A draft that was refreshed, because its file in the project has changed since the draft was begun. */
export interface RefreshedText {
  readonly path: string;
  /** The draft now, which is the file of the project. */
  readonly current: string;
  /** The draft before it was refreshed. */
  readonly previousDraft: string;
}

interface PreparedDrafts {
  readonly folder: string;
  readonly refreshed: readonly RefreshedText[];
}

/** The files of candidates: the drafts of a workspace, or a checkout elsewhere. */
export interface CandidateFiles {
  /** Fills the folder in which the constructor works: the files of the last candidate, if any, on their current bases. */
  prepare(claim: ClaimOfRun, last: ResultManifest | null): Promise<PreparedDrafts>;
  /** Describes and stores the changed files. Rejects with an `EngineError` if there are none, or if one is not allowed. */
  collect(claim: ClaimOfRun): Promise<ResultManifest>;
  /** A throw-away copy of the project with the candidate laid over it. */
  workCopy(manifest: ResultManifest): Promise<WorkCopy>;
  /** The candidate's files as text, for prompts. */
  texts(manifest: ResultManifest): Promise<readonly PromptText[]>;
}

/** The services that the steps of a run use. On a laptop they are implemented differently than on AWS. */
export interface EngineServices {
  readonly coordination: EdgeCoordination;
  readonly blobs: RunBlobs;
  readonly files: CandidateFiles;
  /** The plan of an edge by the current configuration. */
  readPlan(featureId: string, edge: string): Promise<EdgePlan>;
  loadContext(plan: EdgePlan): Promise<LoadedContext>;
  /** The passages of the context that matter for this prompt. */
  contextTexts(context: Uint8Array, plan: EdgePlan): Promise<readonly PromptText[]>;
  /**
   * Earlier work on this edge, for prompts: parked results, and the candidates and findings of runs that did not converge.
   */
  earlierAttemptTexts(subject: string): Promise<readonly PromptText[]>;
  openConstructor(plan: EdgePlan): Promise<Constructor>;
  /** Null: no evaluator is configured, and agent checks stay pending. */
  openEvaluator(plan: EdgePlan): Promise<Evaluator | null>;
  readonly runCheck: ExecuteCheck;
  /** What the feature, project and tenant have spent until now, earlier steps of this run included. */
  spentSoFar(featureId: string): Promise<Omit<SpentByScope, 'run'>>;
  /** Whether the role of this executor may converge the edge with these files. */
  authorityOf(plan: EdgePlan, files: readonly ChangedFile[]): AuthorityDecision;
  readonly agent_id: string;
  /** A clock, in milliseconds. */
  now(): number;
}
