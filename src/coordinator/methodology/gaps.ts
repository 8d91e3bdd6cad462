import type { z } from 'zod';
import type { GapCluster, GapsReply, gapsBody, IdentifiedGapCluster } from '../../core/contract/gaps.js';
import type { LogPosition } from '../../core/contract/schema.js';
import { genCommand, newFeatureCommand } from '../../core/methodology/definition/command.js';
import { findGaps, hasNoGaps } from '../../core/methodology/progress/gaps.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { requestKeyOf } from '../operations/shared.js';
import type { Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { foreignEventIdFor, sha256Hex } from '../runtime/identity.js';

const KEYS_LISTED_MAX = 100;
const KEYS_IN_TRIGGER_MAX = 3;
type GapsReplyFields = Omit<GapsReply, keyof LogPosition>;

/** Records which requirements lack coverage, and raises an intent for each affected domain. A dry run records nothing. */
export function gapsOperation(body: z.output<typeof gapsBody>, caller: Caller): Operation<GapsReplyFields> {
  const { layers_run, keys, orphan_keys = [], untagged_files = 0, feature = 'all' } = body;
  const { clusters: gapClusters, ...counts } = findGaps({ layers_run, keys, orphan_keys, untagged_files });
  const clusters = gapClusters.map(withIntentId);
  const result = hasNoGaps({ ...counts, clusters: gapClusters }) ? 'COMPLETE' : 'GAPS';
  const next = nextCommand(clusters[0]);
  const fixedFields = { success: true, result, ...counts, clusters } as const;
  const replyOf = (event_id: string | null): GapsReplyFields => ({ ...fixedFields, event_id, next });
  const requestKey = requestKeyOf(caller, 'gaps', body);
  return {
    kind: 'gaps',
    requestKey,
    attempt(view) {
      const transaction = new TransactionBuilder(view, body.request_id);
      if (body.dry_run === true) return transaction.answer(null, replyOf(null));
      const by = actorOf(caller, body);
      const eventId = view.newEventId();
      const fields = { layers_run: [...new Set(layers_run)].sort(), feature, ...counts };
      transaction.addLooseEvent(draftEvent(view, 'gaps_validated', by, fields), eventId);
      for (const cluster of clusters) raiseIntent(transaction, cluster, by);
      return { transaction: transaction.build(requestKey), reply: replyOf(eventId) };
    },
    replay: ([event]) => replyOf(event?.event_id ?? null),
  };
}

const nextCommand = (first: IdentifiedGapCluster | undefined): string =>
  first === undefined
    ? genCommand('release', '--dry-run')
    : newFeatureCommand('--intent', first.intent_id, '--reason', `close the gaps of ${first.domain}`);

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
