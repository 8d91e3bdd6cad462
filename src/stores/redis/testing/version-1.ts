import { msOf, type NewEvent } from '../../../core/events/envelope.js';
import type { CommitOutcome, ProjectKey, Transaction } from '../../store.js';

const ZONES = [65536, 256];
const PREFIXES = {
  event_type: 'type:',
  subject: 'subject:',
  task_id: 'task:',
  feature_id: 'feature:',
  edge: 'edge:',
  agent_id: 'agent:',
  session_id: 'session:',
} as const;

/** Writes data in the layout of version 1. */
export class Version1 {
  constructor(private readonly sendCommand: (...args: string[]) => Promise<unknown>) {}

  async create(): Promise<void> {
    await this.sendCommand(
      'HSET',
      'genesis_fleet:meta',
      'secret',
      'a'.repeat(64),
      'incarnation',
      '1',
      'version',
      '1',
    );
  }

  /** Writes the effects of these transactions, all of which were committed. */
  async fill(
    project: ProjectKey,
    transactions: readonly Transaction[],
    outcomes: readonly CommitOutcome[],
  ): Promise<void> {
    const tenant = tenantKey(project);
    const key = projectKey(project);
    const writes = new Writes();
    const zones = new Map<string, [number, number]>();
    let [position, rulesSeq] = [0, 0];
    for (const [index, transaction] of transactions.entries()) {
      const outcome = outcomes[index] as CommitOutcome & { kind: 'committed' };
      rulesSeq = outcome.rules_seq;
      for (const { head, subject } of transaction.swaps) {
        writes.add('HSET', `${key}:heads`, subject, `${head.seq} ${JSON.stringify(head)}`);
        writes.add('ZADD', `${key}:subjects`, '0', subject);
      }
      for (const event of [
        ...transaction.swaps.flatMap(({ events }) => events),
        ...transaction.loose_events,
      ]) {
        position += 1;
        writes.add('HSET', `${key}:events`, String(position), JSON.stringify(event));
        if (event.seq === undefined) writes.add('SADD', `${key}:notes`, event.event_id);
        for (const list of listsOf(event)) writes.add('RPUSH', `${key}:by:${list}`, String(position));
        widenSpans(zones, position, msOf(event.timestamp));
      }
      for (const { key: request, digest, reply } of transaction.requests) {
        const text = JSON.stringify({ key: request, digest, reply });
        writes.add('HSET', `${key}:requests`, request, `${outcome.positions.join(',')}\n${text}`);
        writes.add('RPUSH', `${key}:request_order`, `${outcome.now_ms} ${request}`);
      }
      for (const { scope, member, until_ms } of transaction.permits) {
        const score = String(Math.min(until_ms as number, 1e300));
        writes.add('ZADD', `${tenant}:slots:${scope}`, score, `${project.project_id}\u0000${member}`);
      }
    }
    for (const [zone, [from, to]] of zones) writes.add('HSET', `${key}:times`, zone, `${from} ${to}`);
    writes.add('HSET', key, 'position', String(position), 'rules_seq', String(rulesSeq));
    writes.add('SADD', `${tenant}:projects`, project.project_id);
    for (const args of writes.commands()) await this.sendCommand(...args);
  }

  async redact(project: ProjectKey, event: NewEvent & { position: number }): Promise<void> {
    const { position, ...rest } = event;
    await this.sendCommand('HSET', `${projectKey(project)}:events`, String(position), JSON.stringify(rest));
  }
}

/** Collects writes, so that each key is written by a single command. All writes to a key must use the same command. */
class Writes {
  private readonly byKey = new Map<string, string[]>();

  add(command: string, key: string, ...values: string[]): void {
    const args = this.byKey.get(key);
    if (args === undefined) this.byKey.set(key, [command, key, ...values]);
    else args.push(...values);
  }

  commands(): IterableIterator<string[]> {
    return this.byKey.values();
  }
}

const tenantKey = ({ tenant_id }: ProjectKey): string => `genesis_fleet:{${encodeURIComponent(tenant_id)}}`;
const projectKey = (project: ProjectKey): string =>
  `${tenantKey(project)}:p:${encodeURIComponent(project.project_id)}`;

function listsOf(event: NewEvent): string[] {
  return Object.entries(PREFIXES).flatMap(([field, prefix]) => {
    const value = event[field as keyof typeof PREFIXES];
    return value === undefined || (field === 'task_id' && value === event.subject) ? [] : [prefix + value];
  });
}

function widenSpans(zones: Map<string, [number, number]>, position: number, atMs: number): void {
  for (const [level, size] of ZONES.entries()) {
    const name = `${level + 1}:${Math.floor(position / size)}`;
    const [from, to] = zones.get(name) ?? [atMs, atMs];
    zones.set(name, [Math.min(from, atMs), Math.max(to, atMs)]);
  }
}
