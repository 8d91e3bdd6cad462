import type { z } from 'zod';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { findGaps, type GapCluster, type Gaps, isComplete } from '../../core/features/gaps.js';
import { command, newFeature } from '../../core/graph/command.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import { foreignId, newEventId, sha256Hex } from '../identity.js';
import type { Attempt, Operation } from '../operation.js';
import { requestOf } from '../operations/shared.js';
import { UnitBuilder } from '../unit-builder.js';
import { actorOf, step } from './told.js';
import type { FoundCluster, GapsReply, gapsBody, Seen } from './wire.js';

const KEYS_NAMED_MAX = 100;
const KEYS_TOLD_MAX = 3;
export type GapsOutcome = Omit<GapsReply, keyof Seen>;

/** Writes down which requirements nothing covers, and raises an intent for each domain that lacks something. */
export class GapsOperation implements Operation<GapsOutcome> {
  readonly kind = 'gaps';
  readonly request;
  private readonly gaps: Gaps;
  private readonly clusters: readonly FoundCluster[];

  constructor(
    private readonly body: z.output<typeof gapsBody>,
    private readonly caller: Caller,
  ) {
    this.request = requestOf(caller, 'gaps', body);
    const { layers_run, keys, orphan_keys = [], untagged_files = 0 } = body;
    this.gaps = findGaps({ layers_run, keys, orphan_keys, untagged_files });
    this.clusters = this.gaps.clusters.map(named);
  }

  attempt(desk: Desk): Attempt<GapsOutcome> {
    const unit = new UnitBuilder(desk, this.body.request_id ?? null);
    if (this.body.dry_run === true) return { unit: unit.build(null), reply: this.reply(null) };
    const by = actorOf(this.body, this.caller);
    const event_id = newEventId(desk.environment, desk.now_ms);
    const { clusters: _, ...counted } = this.gaps;
    const { layers_run, feature } = this.body;
    const said = { layers_run: [...new Set(layers_run)].sort(), feature: feature ?? 'all', ...counted };
    unit.told(step(desk, 'gaps_validated', by, said), event_id);
    for (const cluster of this.clusters) this.raise(unit, desk, cluster);
    return { unit: unit.build(this.request), reply: this.reply(event_id) };
  }

  replay([event]: readonly EventEnvelope[]): GapsOutcome {
    return this.reply(event?.event_id ?? null);
  }

  /** Named by what is missing: found again, it is there already and is left out. */
  private raise(unit: UnitBuilder, desk: Desk, cluster: FoundCluster): void {
    const { intent_id, domain, severity, keys, key_count, layers } = cluster;
    const draft = step(desk, 'intent_raised', actorOf(this.body, this.caller), {
      intent_id,
      trigger: `${domain}: ${layers.join(' and ')} missing for ${keys.slice(0, KEYS_TOLD_MAX).join(', ')}${key_count > KEYS_TOLD_MAX ? ' …' : ''}`,
      delta: `${key_count}`,
      signal_source: 'gap',
      vector_type: 'feature',
      affected_req_keys: keys,
      severity,
    });
    unit.told(draft, foreignId(desk.key)(`intent_raised\n${intent_id}`, 0));
  }

  private reply(event_id: string | null): GapsOutcome {
    const { clusters: _, ...counted } = this.gaps;
    const result = isComplete(this.gaps) ? 'COMPLETE' : 'GAPS';
    const first = this.clusters[0];
    const next =
      first === undefined
        ? command('release', '--dry-run')
        : newFeature('--intent', first.intent_id, '--reason', `close the gaps of ${first.domain}`);
    return { success: true, result, ...counted, clusters: this.clusters, event_id, next };
  }
}

function named(cluster: GapCluster): FoundCluster {
  const { domain, keys, layers } = cluster;
  const digest = sha256Hex(JSON.stringify([domain, keys, layers])).slice(0, 8);
  const intent_id = `INT-GAP-${domain}-${digest}`;
  return { ...cluster, keys: keys.slice(0, KEYS_NAMED_MAX), key_count: keys.length, intent_id };
}
