import type { z } from 'zod';
import type {
  GapCluster,
  GapReport,
  GapsReply,
  gapsBody,
  IdentifiedGapCluster,
} from '../../core/contract/methodology.js';
import type { LogPosition } from '../../core/contract/schema.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { genCommand, newFeatureCommand } from '../../core/methodology/definition/command.js';
import { findGaps, hasNoGaps } from '../../core/methodology/progress/gaps.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { requestKeyOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { foreignEventIdFor, sha256Hex } from '../runtime/identity.js';

const KEYS_LISTED_MAX = 100;
const KEYS_IN_TRIGGER_MAX = 3;
export type GapsOutcome = Omit<GapsReply, keyof LogPosition>;

/** Records which requirements lack coverage, and raises an intent for each affected domain. */
export class GapsOperation implements Operation<GapsOutcome> {
  readonly kind = 'gaps';
  readonly request;
  private readonly gaps: GapReport;
  private readonly clusters: readonly IdentifiedGapCluster[];

  constructor(
    private readonly body: z.output<typeof gapsBody>,
    private readonly caller: Caller,
  ) {
    this.request = requestKeyOf(caller, 'gaps', body);
    const { layers_run, keys, orphan_keys = [], untagged_files = 0 } = body;
    this.gaps = findGaps({ layers_run, keys, orphan_keys, untagged_files });
    this.clusters = this.gaps.clusters.map(withIntentId);
  }

  attempt(view: DecisionView): Attempt<GapsOutcome> {
    const transaction = new TransactionBuilder(view, this.body.request_id);
    if (this.body.dry_run === true) return transaction.answer(null, this.reply(null));
    const by = actorOf(this.caller, this.body);
    const eventId = view.newEventId();
    const { clusters: _, ...counts } = this.gaps;
    const { layers_run, feature } = this.body;
    const fields = { layers_run: [...new Set(layers_run)].sort(), feature: feature ?? 'all', ...counts };
    transaction.addLooseEvent(draftEvent(view, 'gaps_validated', by, fields), eventId);
    for (const cluster of this.clusters) raiseIntent(transaction, cluster, by);
    return { transaction: transaction.build(this.request), reply: this.reply(eventId) };
  }

  replay([event]: readonly EventEnvelope[]): GapsOutcome {
    return this.reply(event?.event_id ?? null);
  }

  private reply(event_id: string | null): GapsOutcome {
    const { clusters: _, ...counts } = this.gaps;
    const result = hasNoGaps(this.gaps) ? 'COMPLETE' : 'GAPS';
    const first = this.clusters[0];
    const next =
      first === undefined
        ? genCommand('release', '--dry-run')
        : newFeatureCommand('--intent', first.intent_id, '--reason', `close the gaps of ${first.domain}`);
    return { success: true, result, ...counts, clusters: this.clusters, event_id, next };
  }
}

/** The intent's id derives from the missing keys, so a gap found again adds no second intent. */
function raiseIntent(transaction: TransactionBuilder, cluster: IdentifiedGapCluster, by: string): void {
  const { view } = transaction;
  const { intent_id, domain, severity, keys, key_count, layers } = cluster;
  const draft = draftEvent(view, 'intent_raised', by, {
    intent_id,
    trigger: `${domain}: ${layers.join(' and ')} missing for ${keys.slice(0, KEYS_IN_TRIGGER_MAX).join(', ')}${key_count > KEYS_IN_TRIGGER_MAX ? ' …' : ''}`,
    delta: `${key_count}`,
    signal_source: 'gap',
    vector_type: 'feature',
    affected_req_keys: keys,
    severity,
  });
  transaction.addLooseEvent(draft, foreignEventIdFor(view.key)(`intent_raised\n${intent_id}`, 0));
}

function withIntentId(cluster: GapCluster): IdentifiedGapCluster {
  const { domain, keys, layers } = cluster;
  const digest = sha256Hex(JSON.stringify([domain, keys, layers])).slice(0, 8);
  const intent_id = `INT-GAP-${domain}-${digest}`;
  return { ...cluster, keys: keys.slice(0, KEYS_LISTED_MAX), key_count: keys.length, intent_id };
}
