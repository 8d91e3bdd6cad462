import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { AuditSink } from '../../coordinator/audit/sink.js';
import { openStoreUrl, withoutPassword } from '../store-url.js';
import { FileSink } from './file-sink.js';
import { gitSink } from './git-sink.js';
import { StoreSink } from './store-sink.js';
import { webhookSink } from './webhook-sink.js';

/** Precedes the URL of another store, which keeps the checkpoints. */
const STORE_PREFIX = 'store:';

/** Opens the sinks of GENESIS_AUDIT_SINKS, which are separated by white space. Throws if one is not valid. */
export const openSinks = (setting: string, cwd: string, stateFolder: string): AuditSink[] =>
  setting
    .split(/\s+/)
    .filter((address) => address !== '')
    .map((address) => openSink(address, cwd, stateFolder));

function openSink(address: string, cwd: string, stateFolder: string): AuditSink {
  if (address.startsWith('file:')) return new FileSink(resolve(cwd, address.slice('file:'.length)));
  if (address.startsWith(STORE_PREFIX)) {
    const url = address.slice(STORE_PREFIX.length);
    return new StoreSink(withoutPassword(address), async () => (await openStoreUrl(url, () => {})).store);
  }
  // These sinks cannot be queried, so a local file records what they have confirmed.
  const confirmed = new FileSink(join(stateFolder, `${hash('sha256', address, 'hex').slice(0, 16)}.jsonl`));
  if (/^https?:\/\//.test(address) && URL.canParse(address))
    return withLocalRecord(webhookSink(address), confirmed);
  if (address.startsWith('git:'))
    return withLocalRecord(gitSink(resolve(cwd, address.slice('git:'.length))), confirmed);
  throw new Error(
    `${address} is not a valid sink. Expected file:PATH, https://HOST/PATH, git:REPOSITORY or store:URL.`,
  );
}

const withLocalRecord = (sink: Pick<AuditSink, 'name' | 'send'>, confirmed: FileSink): AuditSink => ({
  name: sink.name,
  lastSent: (projectKey) => confirmed.lastSent(projectKey),
  async send(anchors) {
    await sink.send(anchors);
    await confirmed.send(anchors);
  },
});
