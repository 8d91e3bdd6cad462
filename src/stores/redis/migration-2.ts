import type { NewEvent } from '../../core/events/envelope.js';
import { type StoredHead, StoreRefused } from '../store.js';
import type { RedisConnection } from './connection.js';
import { EventColumns } from './event-columns.js';
import { textOfHead } from './head-text.js';
import { RedisKeys } from './keys.js';
import { packDoubles } from './numbers.js';
import { LAYOUT, readScript } from './script.js';
import { requestText } from './whole-batch.js';

const CONVERT_SCRIPT = readScript(
  new URL('./migration-2.lua', import.meta.url),
  { REQUEST_WINDOW_MS: 0, REQUESTS_MAX: 0 },
  [LAYOUT],
);
const PAGE_SIZE = 1024;

/** Converts the data of version 1, a part per call of the script. A run that follows an interrupted one completes it. */
export class Conversion {
  private readonly keys: RedisKeys;

  constructor(
    private readonly connection: RedisConnection,
    private readonly namespace: string,
  ) {
    this.keys = new RedisKeys(namespace);
  }

  async run(): Promise<void> {
    const suffix = ':projects';
    for (const key of await this.scan(`${this.namespace}:{*}${suffix}`)) {
      const encoded = key.slice(this.namespace.length + 2, -suffix.length - 1);
      await this.convertTenant(decodeURIComponent(encoded));
    }
  }

  private async convertTenant(tenant_id: string): Promise<void> {
    for (const project_id of await this.sendForList(['SMEMBERS', this.keys.projects(tenant_id)])) {
      await this.convertProject({ tenant_id, project_id });
    }
    const prefix = `${this.keys.tenant(tenant_id)}:slots:`;
    for (const key of await this.scan(`${escapeGlob(prefix)}*`)) {
      await this.convertScope(key, tenant_id, key.slice(prefix.length));
    }
  }

  private async convertProject(key: { tenant_id: string; project_id: string }): Promise<void> {
    const tenant = this.keys.tenant(key.tenant_id);
    const oldKey = `${tenant}:p:${encodeURIComponent(key.project_id)}`;
    const keys: ConvertedKeys = { oldKey, tenant, project: this.keys.project(key) };
    const [position] = await this.sendForList(['HMGET', oldKey, 'position']);
    if (position === null || position === undefined) return;
    await this.convertEvents(keys, Number(position));
    await this.convertHeads(keys);
    await this.convertRequests(keys);
    await this.removeLists(keys);
    await this.convert(keys, ['project']);
  }

  private async convertEvents(keys: ConvertedKeys, last: number): Promise<void> {
    for (let previousBase = -1; ; ) {
      const [text] = await this.sendForList(['HMGET', keys.project, 'position']);
      const base = Number(text ?? 0);
      if (base >= last) return;
      const positions = Array.from(
        { length: Math.min(PAGE_SIZE, last - base) },
        (_, index) => base + index + 1,
      );
      const events = await this.sendForList(['HMGET', `${keys.oldKey}:events`, ...positions.map(String)]);
      // A concurrent run may have converted this page meanwhile.
      if (!events.includes(null as never)) await this.convert(keys, eventsPart(base, events));
      else if (base === previousBase)
        throw new StoreRefused(
          `The old log in Redis (${keys.oldKey}:events) has no events after position ${base}, so it is incomplete. Restore the database from a backup, then run gen migrate again.`,
        );
      previousBase = base;
    }
  }

  private async convertHeads(keys: ConvertedKeys): Promise<void> {
    for (let from = '-'; ; ) {
      const range = [`${keys.oldKey}:subjects`, from, '+', 'BYLEX', 'LIMIT', '0', String(PAGE_SIZE)];
      const subjects = await this.sendForList(['ZRANGE', ...range]);
      if (subjects.length === 0) return;
      const storedTexts = await this.sendForList(['HMGET', `${keys.oldKey}:heads`, ...subjects]);
      const rows = storedTexts.flatMap((text, index) => {
        if (text === null) return [];
        const head = JSON.parse(text.slice(text.indexOf(' ') + 1)) as StoredHead;
        return [subjects[index] as string, String(head.seq), textOfHead(head)];
      });
      await this.convert(keys, ['heads', ...rows]);
      from = `(${subjects.at(-1)}`;
    }
  }

  private async convertRequests(keys: ConvertedKeys): Promise<void> {
    for (;;) {
      const entries = await this.sendForList([
        'LRANGE',
        `${keys.oldKey}:request_order`,
        '0',
        String(PAGE_SIZE - 1),
      ]);
      if (entries.length === 0) return;
      const requestKeys = entries.map((entry) => entry.slice(entry.indexOf(' ') + 1));
      const storedTexts = await this.sendForList(['HMGET', `${keys.oldKey}:requests`, ...requestKeys]);
      const rows = storedTexts.flatMap((text, index) =>
        text ? [requestKeys[index] as string, requestFromV1(text)] : [],
      );
      const latestMs = String(Math.max(...entries.map((entry) => Number.parseInt(entry, 10))));
      await this.convert(keys, ['requests', entries[0] as string, String(entries.length), latestMs, ...rows]);
    }
  }

  private async removeLists(keys: ConvertedKeys): Promise<void> {
    for (let cursor = '0'; ; ) {
      const reply = await this.connection.send([
        'HSCAN',
        `${keys.project}:index`,
        cursor,
        'COUNT',
        String(PAGE_SIZE),
      ]);
      const [next, pairs] = reply as [string, string[]];
      await this.convert(keys, ['lists', ...pairs.filter((_, index) => index % 2 === 0)]);
      if (next === '0') return;
      cursor = next;
    }
  }

  /** Version 1 did not record which permits are on heads: those of a scope are on heads if all its members are subjects. */
  private async convertScope(oldKey: string, tenant_id: string, scope: string): Promise<void> {
    const tenant = this.keys.tenant(tenant_id);
    const members = pairsOf(await this.sendForList(['ZRANGE', oldKey, '0', '-1', 'WITHSCORES']));
    const endsByProject = new Map<string, [member: string, endMs: string][]>();
    for (const [name, endMs] of members) {
      const [project_id, member] = name.split('\u0000') as [string, string];
      const project = this.keys.project({ tenant_id, project_id });
      const ends = endsByProject.get(project) ?? [];
      ends.push([member, endMs]);
      endsByProject.set(project, ends);
    }
    let isOnHeads = true;
    for (const [project, ends] of endsByProject) {
      const marks = await this.sendForList(['HMGET', `${project}:marks`, ...ends.map(([member]) => member)]);
      isOnHeads &&= marks.every((mark) => mark !== null);
    }
    if (isOnHeads) {
      for (const [project, ends] of endsByProject)
        await this.convert({ oldKey, tenant, project }, ['ends', scope, ...ends.flat()]);
    } else await this.convert({ oldKey, tenant, project: tenant }, ['members', scope, ...members.flat()]);
    await this.convert({ oldKey, tenant, project: tenant }, ['scope']);
  }

  private convert({ oldKey, tenant, project }: ConvertedKeys, args: (string | Buffer)[]): Promise<unknown> {
    return this.connection.run(CONVERT_SCRIPT, [oldKey, tenant, project], args);
  }

  private async sendForList(args: string[]): Promise<string[]> {
    return (await this.connection.send(args)) as string[];
  }

  private async scan(pattern: string): Promise<string[]> {
    const matchingKeys = new Set<string>();
    for (let cursor = '0'; ; ) {
      const reply = await this.connection.send([
        'SCAN',
        cursor,
        'MATCH',
        pattern,
        'COUNT',
        String(PAGE_SIZE),
      ]);
      const [next, keys] = reply as [string, string[]];
      for (const key of keys) matchingKeys.add(key);
      if (next === '0') return [...matchingKeys].sort();
      cursor = next;
    }
  }
}

interface ConvertedKeys {
  readonly oldKey: string;
  readonly tenant: string;
  readonly project: string;
}

/** The arguments for a page of events. */
function eventsPart(base: number, lines: readonly string[]): (string | Buffer)[] {
  const columns = new EventColumns();
  for (const line of lines) {
    const event = JSON.parse(line) as NewEvent;
    // Version 1 did not list the events of a head with the head, so they are found by their subject.
    const { seq: _, ...loose } = event;
    columns.add(event, loose);
  }
  const { chunks, times, names, eventNumbers } = columns.finish();
  const counts = [base, lines.length, names.length].map(String);
  return ['events', ...counts, packDoubles(times), ...chunks, ...names, ...eventNumbers];
}

const escapeGlob = (text: string): string => text.replace(/[*?[\]\\]/g, '\\$&');

const pairsOf = (list: readonly string[]): [string, string][] =>
  list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1]] as [string, string]] : []));

/** Converts a request of version 1: positions, a line end, and JSON with key, digest and reply. */
function requestFromV1(text: string): string {
  const end = text.indexOf('\n');
  const { digest, reply } = JSON.parse(text.slice(end + 1));
  return `0:${text.slice(0, end)} ${requestText(digest, reply)}`;
}
