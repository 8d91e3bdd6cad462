import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { AuditSink } from '../../coordinator/audit/sink.js';
import { openStoreUrl, withoutPassword } from '../store-url.js';
import { FileSink } from './file-sink.js';
import { gitSink } from './git-sink.js';
import { StoreSink } from './store-sink.js';
import { webhookSink } from './webhook-sink.js';

/** Before the URL of a store that keeps checkpoints of another one. */
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
  const sent = new FileSink(join(stateFolder, `${hash('sha256', address, 'hex').slice(0, 16)}.jsonl`));
  if (/^https?:\/\//.test(address) && URL.canParse(address)) return withMemory(webhookSink(address), sent);
  if (address.startsWith('git:'))
    return withMemory(gitSink(resolve(cwd, address.slice('git:'.length))), sent);
  throw new Error(
    `${address} is not a valid sink. Expected file:PATH, https://HOST/PATH, git:REPOSITORY or store:URL.`,
  );
}

const withMemory = (sink: Pick<AuditSink, 'name' | 'send'>, sent: FileSink): AuditSink => ({
  name: sink.name,
  lastSent: (project) => sent.lastSent(project),
  async send(anchors) {
    await sink.send(anchors);
    await sent.send(anchors);
  },
});
