import { DEFAULT_POLICY, type Policy } from '../../core/claims/policy.js';
import { type EventDraft, isoTime } from '../../core/events/envelope.js';
import type { ConfigFault, FeatureVector, Methodology } from '../../core/graph/methodology.js';
import { isNewFeature, isNewMethodology } from '../../core/graph/said-anew.js';
import { featureSubject, METHODOLOGY_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import { type Desk, policyOf } from '../desk.js';
import { newEventId } from '../identity.js';
import type { Attempt, Operation } from '../operation.js';
import { type Problem, problem } from '../problem.js';
import { UnitBuilder } from '../unit-builder.js';
import type { ConfigureResult } from '../wire.js';
import { requestOf } from './shared.js';

/** An engine takes so many records in one unit; the rest follow in units of their own. */
const FEATURES_PER_UNIT_MAX = 30;

export interface Configuration {
  readonly methodology: Methodology;
  readonly warnings: readonly ConfigFault[];
  /** Of all features that the files have. */
  readonly feature_count: number;
  /** Those that the records did not have when they were compared. What has been written leaves the list. */
  readonly changed: FeatureVector[];
  readonly request_id: string | undefined;
  /** What was asked, for telling one request from another. */
  readonly digest: string;
}

/** What one unit did, and how many features may still have to be written. */
export interface ConfigureStep extends ConfigureResult {
  readonly left: number;
}

/**
 * Takes what a project's files say into its records: the methodology, the features that changed, and of the policy what
 * the files have said anew. Nothing changed, nothing written. A feature that is no longer among the files stays: work
 * may have been done on it.
 */
export class ConfigureOperation implements Operation<ConfigureStep> {
  readonly kind = 'configure';
  readonly request;
  private readonly by: string;

  constructor(
    private readonly asked: Configuration,
    caller: Caller,
  ) {
    const { request_id, digest } = asked;
    this.request = requestOf(caller, 'configure', { ...{ digest }, request_id });
    this.by = caller.user_id ?? caller.principal;
  }

  attempt(desk: Desk): Attempt<ConfigureStep> {
    const unit = new UnitBuilder(desk, this.asked.request_id ?? null);
    const isNew = isNewMethodology(this.asked.methodology, desk);
    const features = this.nextFeatures(desk);
    const changes = isNew || features.length > 0;
    if (isNew) this.configure(desk, unit);
    for (const vector of features) writeFeature(unit, desk, vector, this.by);
    const reply = this.reply(desk, changes, features.length, this.asked.changed.length - features.length);
    if (!changes) unit.check(METHODOLOGY_SUBJECT, desk.record(METHODOLOGY_SUBJECT)?.seq ?? 0);
    // What is known, allowed and asked for is decided by these records: whoever was decided on others decides again.
    else unit.changingRules();
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): ConfigureStep {
    throw new Error('a configuration is remembered with its reply');
  }

  /** As many of those that are still new as one unit takes. */
  private nextFeatures(desk: Desk): FeatureVector[] {
    const { changed } = this.asked;
    while (changed[0] !== undefined && !isNewFeature(changed[0], desk)) changed.shift();
    return changed.slice(0, FEATURES_PER_UNIT_MAX).filter((vector) => isNewFeature(vector, desk));
  }

  private configure(desk: Desk, unit: UnitBuilder): void {
    const before = desk.methodology;
    const policy = policySaid(policyOf(desk.record(POLICY_SUBJECT)), before, this.asked.methodology);
    if (policy !== null) this.write(unit, desk, POLICY_SUBJECT, 'POLICY_CHANGED', policy);
    this.write(unit, desk, METHODOLOGY_SUBJECT, 'METHODOLOGY_CHANGED', this.asked.methodology);
    if (before === null) {
      const event_id = newEventId(desk.environment, desk.now_ms);
      unit.told(initialized(this.asked.methodology, this.by, desk.now_ms), event_id);
    }
  }

  private write(unit: UnitBuilder, desk: Desk, subject: string, event_type: string, record: object): void {
    unit.record(subject, desk.record(subject), [recordEvent(event_type, record, this.by, desk.now_ms)]);
  }

  private reply(desk: Desk, changes: boolean, features_changed: number, left: number): ConfigureStep {
    const { feature_count, warnings } = this.asked;
    return {
      success: true,
      reason: changes ? 'CONFIGURED' : 'UNCHANGED',
      version: desk.record(METHODOLOGY_SUBJECT)?.seq ?? 0,
      feature_count,
      features_changed,
      warnings,
      left,
    };
  }
}

/** A feature as it is from now on. Whoever writes one changes what can be claimed, and so the rules. */
export function writeFeature(unit: UnitBuilder, desk: Desk, vector: FeatureVector, by: string): void {
  const subject = featureSubject(vector.feature_id);
  unit.record(subject, desk.record(subject), [recordEvent('FEATURE_CHANGED', vector, by, desk.now_ms)]);
}

const recordEvent = (event_type: string, record: object, by: string, now_ms: number): EventDraft => ({
  event_type,
  timestamp: isoTime(now_ms),
  agent_id: by,
  payload: { by, record },
});

/**
 * The policy with what the files say of claims. A word of the files counts when it changes: what an admin has set
 * meanwhile stands until then. Null: nothing is said anew.
 */
function policySaid(policy: Policy, before: Methodology | null, now: Methodology): Policy | null {
  const [was, is] = [claimPolicy(before), claimPolicy(now)];
  const keys = (Object.keys(is) as (keyof typeof is)[]).filter((key) => was[key] !== is[key]);
  if (keys.length === 0) return null;
  const { edge, ...said } = Object.fromEntries(keys.map((key) => [key, is[key]])) as Partial<typeof is>;
  const stale_policy = edge === undefined ? policy.stale_policy : { ...policy.stale_policy, edge };
  return { ...policy, ...said, stale_policy };
}

const claimPolicy = (methodology: Methodology | null) => ({
  stale_threshold_seconds:
    methodology?.claims?.stale_threshold_seconds ?? DEFAULT_POLICY.stale_threshold_seconds,
  claim_ttl_seconds: methodology?.claims?.claim_ttl_seconds ?? DEFAULT_POLICY.claim_ttl_seconds,
  max_hold_seconds: methodology?.claims?.max_hold_seconds ?? DEFAULT_POLICY.max_hold_seconds,
  edge: methodology?.claims?.on_ttl ?? DEFAULT_POLICY.stale_policy.edge,
});

function initialized(methodology: Methodology, by: string, now_ms: number): EventDraft {
  const { topology, constraints, default_profile } = methodology;
  const settled = Object.values(constraints.constraint_dimensions).filter(
    (said) => said !== null && said !== undefined && said !== '',
  );
  return {
    event_type: 'project_initialized',
    timestamp: isoTime(now_ms),
    agent_id: by,
    payload: {
      ...(constraints.language === null ? {} : { language: constraints.language }),
      constraint_dimensions_configured: settled.length,
      asset_types: topology.asset_types.length,
      transitions: topology.transitions.length,
      profile: default_profile,
    },
  };
}

/** Every fault with the file, the line and the column it was found at. */
export function invalidMethodology(faults: readonly ConfigFault[]): Problem {
  const [first] = faults;
  const place = [first?.file, first?.line, first?.column].filter((part) => part !== undefined).join(':');
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const says = first?.message.replace(/\.$/, '');
  const detail = `${place}: ${says}${more}. Nothing was changed.`;
  return problem('INVALID_METHODOLOGY', detail, faults.slice(0, FAULTS_TOLD_MAX));
}

const FAULTS_TOLD_MAX = 100;
