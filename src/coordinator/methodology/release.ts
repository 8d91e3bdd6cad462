import type { z } from 'zod';
import { adviceFor, type VersionReleaseRefusal } from '../../core/contract/codes.js';
import type { GapsSummary } from '../../core/contract/gaps.js';
import type {
  ReadinessCheck,
  ReleaseManifest,
  versionReleaseBody as releaseBody,
  VersionReleaseReply,
} from '../../core/contract/version-releases.js';
import { type EventDraft, isoTime } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { projectProgressOf } from '../../core/methodology/progress/project-progress.js';
import { checkReadiness } from '../../core/methodology/progress/readiness.js';
import { releaseSubject } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { operationOf, requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { pendingReviews } from './reviews.js';
import { viewInputOf } from './view-input.js';

type ParsedReleaseBody = z.output<typeof releaseBody>;

/** Releases a version, once, if no readiness check fails. A dry run only reports the checks. */
export function releaseOperation(body: ParsedReleaseBody, state: MethodologyState, caller: Caller) {
  const requestKey = body.dry_run === true ? null : requestKeyOf(caller, 'release', body);
  const run = (transaction: TransactionBuilder): VersionReleaseReply => {
    const { view } = transaction;
    const subject = releaseSubject(body.version);
    const reply = decideRelease(view, body, state);
    if (reply.release === null || body.dry_run === true) transaction.checkRecord(subject);
    else transaction.putRecord(subject, [releaseDraft(view, reply.release, actorOf(caller, body))]);
    return reply;
  };
  return operationOf('release', requestKey, run, body.request_id);
}

function decideRelease(
  view: DecisionView,
  body: ParsedReleaseBody,
  state: MethodologyState,
): VersionReleaseReply {
  const { version, dry_run = false, known_gaps = null } = body;
  const refuseRelease = (
    reason: VersionReleaseRefusal,
    next: string,
    readiness: readonly ReadinessCheck[] = [],
  ): VersionReleaseReply => ({ success: false, reason, version, readiness, release: null, next });
  const viewInput = viewInputOf(view.state, state, view);
  if (viewInput.methodology === null) return refuseRelease('NOT_INITIALISED', adviceFor('NOT_INITIALISED'));
  const isReleased = view.record(releaseSubject(version)) !== null;
  if (isReleased || state.releases.some((release) => release.version === version)) {
    return refuseRelease('VERSION_EXISTS', `${version} is already released. ${adviceFor('VERSION_EXISTS')}`);
  }
  const features = [...projectProgressOf(viewInput).features.values()];
  const pending_reviews = pendingReviews(view, state).map(({ task_id }) => task_id);
  const readiness = checkReadiness({ features, state, pending_reviews, known_gaps });
  const failedCheck = readiness.find(({ passed }) => !passed);
  if (failedCheck !== undefined) return refuseRelease('NOT_READY', failedCheck.says, readiness);
  const converged = features.filter(({ isComplete }) => isComplete);
  const featureIds = converged.map(({ row }) => row.feature.feature_id);
  const release = releaseManifest(body, state.last_gaps, featureIds, view.now_ms);
  const next = dry_run ? genCommand('release', '--version', version) : genCommand('start');
  return { success: true, reason: dry_run ? 'READY' : 'RELEASED', version, readiness, release, next };
}

const releaseManifest = (
  body: ParsedReleaseBody,
  lastGaps: GapsSummary | null,
  features_included: readonly string[],
  nowMs: number,
): ReleaseManifest => ({
  version: body.version,
  date: isoTime(nowMs),
  context_hash: body.context_hash ?? null,
  git_tag: body.git_tag ?? null,
  features_included,
  coverage_pct: body.coverage_pct ?? (lastGaps && coverageOf(lastGaps)),
  known_gaps: body.known_gaps ?? (lastGaps && lastGaps.total_req_keys - lastGaps.full_coverage),
});

const releaseDraft = (view: DecisionView, release: ReleaseManifest, by: string): EventDraft =>
  draftEvent(view, 'release_created', by, {
    version: release.version,
    features_included: release.features_included.length,
    coverage_pct: release.coverage_pct ?? undefined,
    known_gaps: release.known_gaps ?? undefined,
    context_hash: release.context_hash ?? undefined,
    git_tag: release.git_tag ?? undefined,
  });

const coverageOf = ({ total_req_keys, full_coverage }: GapsSummary): number =>
  total_req_keys === 0 ? 100 : Math.round((full_coverage / total_req_keys) * 1000) / 10;
