import { DEFAULT_POLICY, type Policy } from '../../core/claims/policy.js';
import type { ConfigureResult } from '../../core/contract/configuration.js';
import type { ConfigFault } from '../../core/contract/problem.js';
import { hasFeatureChanged, hasMethodologyChanged } from '../../core/methodology/definition/config-diff.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import { featureSubject, METHODOLOGY_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation } from '../queue/operation.js';
import { policyFromRecord } from '../queue/rules-cache.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { type Problem, problem } from '../wire/problem.js';
import { operationOf, requestKeyOf } from './shared.js';

/** Maximum number of features per transaction, because databases limit its records. Others need further transactions. */
const FEATURES_PER_TRANSACTION_MAX = 30;

export interface ConfigureRequest {
  readonly methodology: Methodology;
  readonly warnings: readonly ConfigFault[];
  /** The faults of files that are left out. */
  readonly faults: readonly ConfigFault[];
  /** Number of features in all files. */
  readonly feature_count: number;
  /** Features that differed from the records when compared. Written ones are removed from the list. */
  readonly changed: Feature[];
  readonly request_id: string | undefined;
  /** SHA-256 of what the client sent. Distinguishes requests with the same id. */
  readonly requestDigest: string;
}

/** The outcome of one transaction, and the number of features that may remain to be written. */
interface ConfigureStep extends ConfigureResult {
  readonly left: number;
}

/**
 * Writes a project's files to its records: the methodology, changed features, and the
 * policy settings that the files changed. Without changes it writes nothing. A feature
 * that is no longer in the files stays, because work may have been done on it.
 */
export function configureOperation(
  configuration: ConfigureRequest,
  caller: Caller,
): Operation<ConfigureStep> {
  const { methodology, warnings, faults, feature_count, changed, request_id, requestDigest } = configuration;
  const by = actorOf(caller);
  const run = (transaction: TransactionBuilder): ConfigureStep => {
    const { view } = transaction;
    const hasNewMethodology = hasMethodologyChanged(methodology, view);
    const features = nextFeatures(changed, view);
    const hasChanges = hasNewMethodology || features.length > 0;
    if (hasNewMethodology) writeMethodology(transaction, methodology, by);
    for (const feature of features) writeFeature(transaction, feature, by);
    if (!hasChanges) transaction.checkRecord(METHODOLOGY_SUBJECT);
    // Claims and results are decided on these records, so transactions decided on the old ones must be decided again.
    else transaction.invalidateConcurrentDecisions();
    return {
      success: true,
      reason: hasChanges ? 'CONFIGURED' : 'UNCHANGED',
      version: view.record(METHODOLOGY_SUBJECT)?.seq ?? 0,
      feature_count,
      features_changed: features.length,
      warnings,
      faults,
      left: changed.length - features.length,
    };
  };
  const requestKey = requestKeyOf(caller, 'configure', { ...{ digest: requestDigest }, request_id });
  return operationOf('configure', requestKey, run, request_id);
}

/** The next features that still differ from their records, as many as fit into one transaction. */
function nextFeatures(changed: Feature[], view: DecisionView): Feature[] {
  while (changed[0] !== undefined && !hasFeatureChanged(changed[0], view)) changed.shift();
  return changed.slice(0, FEATURES_PER_TRANSACTION_MAX).filter((feature) => hasFeatureChanged(feature, view));
}

function writeMethodology(transaction: TransactionBuilder, methodology: Methodology, by: string): void {
  const { view } = transaction;
  const previous = view.methodology;
  const policy = mergePolicyChanges(policyFromRecord(view.record(POLICY_SUBJECT)), previous, methodology);
  if (policy !== null) transaction.writeRecord(POLICY_SUBJECT, 'POLICY_CHANGED', policy, by);
  transaction.writeRecord(METHODOLOGY_SUBJECT, 'METHODOLOGY_CHANGED', methodology, by);
  if (previous !== null) return;
  const initialized = projectInitializedPayload(methodology);
  transaction.addLooseEvent(draftEvent(view, 'project_initialized', by, initialized));
}

/**
 * Writes a feature's record. Changing an existing feature changes what
 * can be claimed, so the caller must mark the rules as changed.
 */
export const writeFeature = (transaction: TransactionBuilder, feature: Feature, by: string) =>
  transaction.writeRecord(featureSubject(feature.feature_id), 'FEATURE_CHANGED', feature, by);

/**
 * The policy with the claim settings that changed in the files. A setting in the files applies when it changes; until
 * then an admin's value stays. Null if no setting changed.
 */
function mergePolicyChanges(policy: Policy, before: Methodology | null, now: Methodology): Policy | null {
  const [previous, current] = [claimPolicy(before), claimPolicy(now)];
  const keys = (Object.keys(current) as (keyof typeof current)[]).filter(
    (key) => previous[key] !== current[key],
  );
  if (keys.length === 0) return null;
  const { edge, ...changes } = Object.fromEntries(keys.map((key) => [key, current[key]])) as Partial<
    typeof current
  >;
  const stale_policy = edge === undefined ? policy.stale_policy : { ...policy.stale_policy, edge };
  return { ...policy, ...changes, stale_policy };
}

const claimPolicy = (methodology: Methodology | null) => ({
  stale_threshold_seconds:
    methodology?.claims?.stale_threshold_seconds ?? DEFAULT_POLICY.stale_threshold_seconds,
  claim_ttl_seconds: methodology?.claims?.claim_ttl_seconds ?? DEFAULT_POLICY.claim_ttl_seconds,
  max_hold_seconds: methodology?.claims?.max_hold_seconds ?? DEFAULT_POLICY.max_hold_seconds,
  edge: methodology?.claims?.on_ttl ?? DEFAULT_POLICY.stale_policy.edge,
});

function projectInitializedPayload({ topology, constraints, default_profile }: Methodology) {
  const configured = Object.values(constraints.constraint_dimensions).filter(
    (value) => value !== null && value !== undefined && value !== '',
  );
  return {
    language: constraints.language ?? undefined,
    constraint_dimensions_configured: configured.length,
    asset_types: topology.asset_types.length,
    transitions: topology.transitions.length,
    profile: default_profile,
  };
}

/** The problem for invalid files. Lists the first `FAULTS_REPORTED_MAX` faults, each with its file, line and column. */
export function invalidMethodologyProblem(faults: readonly ConfigFault[]): Problem {
  const [first] = faults;
  const location = [first?.file, first?.line, first?.column].filter((part) => part !== undefined).join(':');
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const message = first?.message.replace(/\.$/, '');
  const detail = `${location}: ${message}${more}. Nothing was changed.`;
  return problem('INVALID_METHODOLOGY', detail, faults.slice(0, FAULTS_REPORTED_MAX));
}

const FAULTS_REPORTED_MAX = 100;
