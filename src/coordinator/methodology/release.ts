import type { z } from 'zod';
import { adviceFor, type VersionReleaseRefusal } from '../../core/contract/codes.js';
import type {
  GapsSummary,
  ReadinessCheck,
  ReleaseManifest,
  versionReleaseBody as releaseBody,
  VersionReleaseReply,
} from '../../core/contract/methodology.js';
import { type EventDraft, isoTime } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { projectProgressOf } from '../../core/methodology/progress/project-progress.js';
import { checkReadiness } from '../../core/methodology/progress/readiness.js';
import { releaseSubject } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { pendingReviews } from './reviews.js';
import { viewInputOf } from './view-input.js';

/** Releases a version, once, if no readiness check fails. A dry run only reports the checks. */
export class ReleaseOperation implements Operation<VersionReleaseReply> {
  readonly kind = 'release';
  readonly request;

  constructor(
    private readonly body: z.output<typeof releaseBody>,
    private readonly methodologyState: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = body.dry_run === true ? null : requestKeyOf(caller, 'release', body);
  }

  attempt(view: DecisionView): Attempt<VersionReleaseReply> {
    const transaction = new TransactionBuilder(view, this.body.request_id);
    const subject = releaseSubject(this.body.version);
    const reply = this.decide(view, view.record(subject) !== null);
    const isWritten = reply.release !== null && this.body.dry_run !== true;
    if (isWritten) transaction.putRecord(subject, [this.draft(view, reply.release)]);
    else transaction.checkRecord(subject);
    return transaction.answer(this.request, reply);
  }

  private decide(view: DecisionView, isReleased: boolean): VersionReleaseReply {
    const { version, dry_run = false, known_gaps = null } = this.body;
    const viewInput = viewInputOf(view.state, this.methodologyState, view);
    const { methodology, state } = viewInput;
    if (methodology === null) return this.refusedReply('NOT_INITIALISED', adviceFor('NOT_INITIALISED'));
    if (isReleased || state.releases.some((release) => release.version === version)) {
      const next = `${version} is already released. ${adviceFor('VERSION_EXISTS')}`;
      return this.refusedReply('VERSION_EXISTS', next);
    }
    const standings = [...projectProgressOf(viewInput).features.values()];
    const pending_reviews = pendingReviews(view, state).map(({ task_id }) => task_id);
    const readiness = checkReadiness({ features: standings, state, pending_reviews, known_gaps });
    const failedCheck = readiness.find(({ passed }) => !passed);
    if (failedCheck !== undefined) return this.refusedReply('NOT_READY', failedCheck.says, readiness);
    const converged = standings.filter(({ isComplete }) => isComplete);
    const featureIds = converged.map(({ row }) => row.vector.feature_id);
    const release = this.manifest(view, featureIds);
    const next = dry_run ? genCommand('release', '--version', version) : genCommand('start');
    return { success: true, reason: dry_run ? 'READY' : 'RELEASED', version, readiness, release, next };
  }

  private manifest(view: DecisionView, features_included: readonly string[]): ReleaseManifest {
    const { version, context_hash = null, git_tag = null, coverage_pct, known_gaps } = this.body;
    const lastGaps = this.methodologyState.last_gaps;
    return {
      version,
      date: isoTime(view.now_ms),
      context_hash,
      git_tag,
      features_included,
      coverage_pct: coverage_pct ?? (lastGaps === null ? null : coverageOf(lastGaps)),
      known_gaps: known_gaps ?? (lastGaps === null ? null : lastGaps.total_req_keys - lastGaps.full_coverage),
    };
  }

  private draft(view: DecisionView, { features_included, ...manifest }: ReleaseManifest): EventDraft {
    const { version, coverage_pct, known_gaps, context_hash, git_tag } = manifest;
    return draftEvent(view, 'release_created', actorOf(this.caller, this.body), {
      version,
      features_included: features_included.length,
      coverage_pct: coverage_pct ?? undefined,
      known_gaps: known_gaps ?? undefined,
      context_hash: context_hash ?? undefined,
      git_tag: git_tag ?? undefined,
    });
  }

  private refusedReply(
    reason: VersionReleaseRefusal,
    next: string,
    readiness: readonly ReadinessCheck[] = [],
  ): VersionReleaseReply {
    return { success: false, reason, version: this.body.version, readiness, release: null, next };
  }
}

const coverageOf = ({ total_req_keys, full_coverage }: GapsSummary): number =>
  total_req_keys === 0 ? 100 : Math.round((full_coverage / total_req_keys) * 1000) / 10;
