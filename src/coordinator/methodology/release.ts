import type { z } from 'zod';
import { type EventDraft, isoTime } from '../../core/events/envelope.js';
import type { GapsFound, MethodologyState } from '../../core/features/feature-state.js';
import { type ReadinessCheck, readinessOf } from '../../core/features/readiness.js';
import { surveyOf } from '../../core/features/survey.js';
import { command } from '../../core/graph/command.js';
import { releaseSubject } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Attempt, Operation } from '../operation.js';
import { requestOf } from '../operations/shared.js';
import { UnitBuilder } from '../unit-builder.js';
import { pendingReviews } from './reviews.js';
import { sceneOf } from './scene.js';
import { actorOf, NOT_INITIALISED, step } from './told.js';
import type { ReleaseReply, releaseBody } from './wire.js';

type Manifest = NonNullable<ReleaseReply['release']>;

/** A version is released once, when nothing stands against it; a dry run only says what does. */
export class ReleaseOperation implements Operation<ReleaseReply> {
  readonly kind = 'release';
  readonly request;

  constructor(
    private readonly body: z.output<typeof releaseBody>,
    private readonly folded: MethodologyState,
    private readonly caller: Caller,
  ) {
    this.request = body.dry_run === true ? null : requestOf(caller, 'release', body);
  }

  attempt(desk: Desk): Attempt<ReleaseReply> {
    const unit = new UnitBuilder(desk, this.body.request_id ?? null);
    const subject = releaseSubject(this.body.version);
    const known = desk.record(subject);
    const reply = this.decide(desk, known !== null);
    if (reply.release === null || this.body.dry_run === true) {
      unit.check(subject, known?.seq ?? 0);
      return { unit: unit.build(this.request), reply };
    }
    unit.record(subject, null, [this.draft(desk, reply.release)]);
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): ReleaseReply {
    throw new Error('a release is remembered with its reply');
  }

  private decide(desk: Desk, exists: boolean): ReleaseReply {
    const { version, dry_run = false, known_gaps = null } = this.body;
    const scene = sceneOf(desk.state, this.folded, desk);
    const { methodology, state } = scene;
    if (methodology === null) return this.refused('NOT_INITIALISED', NOT_INITIALISED);
    if (exists || state.releases.some((release) => release.version === version)) {
      return this.refused('VERSION_EXISTS', `${version} was released before. Choose a higher version.`);
    }
    const standings = [...surveyOf(scene).standings.values()];
    const pending_reviews = pendingReviews(desk.state, state).map(({ task_id }) => task_id);
    const readiness = readinessOf({ standings, state, pending_reviews, known_gaps });
    const against = readiness.find(({ passed }) => !passed);
    if (against !== undefined) return this.refused('NOT_READY', against.says, readiness);
    const converged = standings.filter(({ complete }) => complete);
    const release = this.manifest(
      desk,
      converged.map(({ row }) => row.vector.feature_id),
    );
    const next = dry_run ? command('release', '--version', version) : command('start');
    return { success: true, reason: dry_run ? 'READY' : 'RELEASED', version, readiness, release, next };
  }

  private manifest(desk: Desk, features_included: readonly string[]): Manifest {
    const { version, context_hash = null, git_tag = null, coverage_pct, known_gaps } = this.body;
    const found = this.folded.last_gaps;
    return {
      version,
      date: isoTime(desk.now_ms),
      context_hash,
      git_tag,
      features_included,
      coverage_pct: coverage_pct ?? (found === null ? null : coverageOf(found)),
      known_gaps: known_gaps ?? (found === null ? null : found.total_req_keys - found.full_coverage),
    };
  }

  private draft(desk: Desk, { features_included, ...manifest }: Manifest): EventDraft {
    const { version, coverage_pct, known_gaps, context_hash, git_tag } = manifest;
    return step(desk, 'release_created', actorOf(this.body, this.caller), {
      version,
      features_included: features_included.length,
      coverage_pct: coverage_pct ?? undefined,
      known_gaps: known_gaps ?? undefined,
      context_hash: context_hash ?? undefined,
      git_tag: git_tag ?? undefined,
    });
  }

  private refused(reason: string, next: string, readiness: readonly ReadinessCheck[] = []): ReleaseReply {
    return { success: false, reason, version: this.body.version, readiness, release: null, next };
  }
}

const coverageOf = ({ total_req_keys, full_coverage }: GapsFound): number =>
  total_req_keys === 0 ? 100 : Math.round((full_coverage / total_req_keys) * 1000) / 10;
