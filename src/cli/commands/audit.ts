import { resolve } from 'node:path';
import { sha256 } from '../../coordinator/audit/audit-hash.js';
import { verifySignatureSync } from '../../coordinator/audit/verify-signature.js';
import { type ConsistencyProof, checkProofText, type InclusionProof } from '../../core/audit/proof.js';
import {
  checkTaskProofText,
  isTaskProofText,
  type TaskProof,
} from '../../core/audit/task-proof/task-proof.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { collectOption } from '../option-parsers.js';
import { readBoundedFile } from '../read-bounded.js';
import { unwrapReply } from '../replies.js';
import { acceptLoss } from './accept-loss.js';
import { AUDIT_KEY_COMMANDS } from './audit-keys.js';

/** Maximum size of a proof file. A task proof contains whole payloads, so it can be far larger than the proof of one event. */
const PROOF_BYTES_MAX = 32 * 1024 * 1024;

const head = defineCommand('head', {
  description: 'show the last signed checkpoint of the log',
  help: '\nKeep the checkpoint where the owner of the log cannot change it. To compare the log with it later: gen verify --anchor FILE.\n\nExample:\n  gen audit head --json > anchor.json',
  async run(context) {
    const anchor = unwrapReply(await (await context.genesis()).auditHead());
    context.printReply(anchor, ({ position, root, time, key_id }) => [
      `Position  ${position}`,
      `Root      ${root}`,
      `Time      ${time}`,
      `Key       ${key_id}`,
    ]);
  },
});

const prove = defineCommand('prove <event>', {
  description: 'prove that an event is in the log; EVENT is its position or its id',
  help: '\nThe proof is one JSON document. It can be checked without this server: gen audit check PROOF.\n\nExample:\n  gen audit prove 42 > proof.json',
  async run(context, event) {
    const client = await context.genesis();
    const position = /^[1-9]\d{0,14}$/.test(event) ? Number(event) : await positionOf(context, event);
    printProof(context, unwrapReply(await client.auditProof(position)));
  },
});

const consistency = defineCommand('consistency <old> [new]', {
  description:
    'prove that the log at position OLD is the beginning of the log at NEW (default: the last checkpoint)',
  help: '\nOLD and NEW are the positions that the checkpoints cover.\n\nExample:\n  gen audit consistency 120 > proof.json',
  async run(context, older, newer) {
    const [from, to] = [positionArgument('OLD', older), newer && positionArgument('NEW', newer)];
    const client = await context.genesis();
    printProof(context, unwrapReply(await client.auditConsistency(from, to === '' ? undefined : to)));
  },
});

const check = defineCommand('check <proof>', {
  description: 'check a proof of an event, of consistency or of a task, without a server',
  options: {
    '--key <key_id>': {
      about: 'accept only signatures of this audit key; repeatable (default: any)',
      parse: collectOption,
    },
  },
  help: '\nExample:\n  gen audit check proof.json --key 5c0e1f7a2b3d4e6f',
  async run(context, file, { key }) {
    const text = await readProof(resolve(context.io.cwd, file));
    const trust = key === undefined ? {} : { trustedKeys: key };
    const checks = { hash: sha256, verify: verifySignatureSync, ...trust };
    const verdict = isTaskProofText(text) ? checkTaskProofText(text, checks) : checkProofText(text, checks);
    context.printReply(verdict, () =>
      verdict.ok ? validText(context, verdict.proof) : `${verdict.code}: ${verdict.detail}`,
    );
    if (!verdict.ok) context.exit_code = EXIT.refused;
  },
});

export const auditCommand = defineCommand('audit', {
  description: 'signed checkpoints of the log, proofs that need no server, and audit keys',
  subcommands: [head, prove, consistency, check, ...AUDIT_KEY_COMMANDS, acceptLoss],
});

function positionArgument(name: string, text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw wrongUsage(`${name}: expected a position, such as 120: ${text}`);
  return Number(text);
}

/** Prints the proof as JSON also without `--json`, because it is to be saved as a file for others. */
const printProof = (context: CommandContext, proof: object): void =>
  context.printReply(proof, () => JSON.stringify(proof, null, 2));

async function readProof(path: string): Promise<string> {
  const bytes = await readBoundedFile(path, PROOF_BYTES_MAX).catch(({ code }: NodeJS.ErrnoException) => {
    throw new CommandFailure(`${path} cannot be read (${code}). Pass a file that contains a proof.`);
  });
  if (bytes !== null) return bytes.toString('utf8');
  throw new CommandFailure(
    `${path} is not a proof: it has more than ${PROOF_BYTES_MAX / 1024 ** 2} MiB. Pass a file that contains a proof.`,
  );
}

function validText(context: CommandContext, proof: InclusionProof | ConsistencyProof | TaskProof): string {
  if ('summary' in proof) return taskProofText(context, proof);
  const { paint } = context;
  const { tenant_id, project_id, time, key_id } = 'leaf' in proof ? proof.checkpoint : proof.to;
  const what =
    'leaf' in proof
      ? `the event at position ${proof.index + 1} is in the log`
      : `the log up to position ${proof.from.position} is the beginning of the log up to ${proof.to.position}`;
  return paint.green(`Valid: ${what} of ${tenant_id}/${project_id} that key ${key_id} signed at ${time}.`);
}

const taskProofText = ({ paint }: CommandContext, { task_id, events, summary }: TaskProof): string =>
  [paint.green(`Valid: ${events.length} events prove the result of ${task_id}.`), ...summary].join('\n');

const PAGE_SIZE = 1000;

/** Searches the log for the event. The ids of most events begin with their time, which narrows the search. */
async function positionOf(context: CommandContext, eventId: string): Promise<number> {
  const client = await context.genesis();
  for (let after = ''; ; ) {
    const page = unwrapReply(
      await client.events({ ...timeRange(eventId), ...(after === '' ? {} : { after }), limit: PAGE_SIZE }),
    );
    const event = page.events.find(({ event_id }) => event_id === eventId);
    if (event !== undefined) return event.position;
    if (page.events.length < PAGE_SIZE)
      throw new CommandFailure(`No event has the id ${eventId}. See gen events for ids and positions.`);
    after = page.next;
  }
}

const SLACK_MS = 1000;
function timeRange(eventId: string): { since?: string; until?: string } {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(eventId) ?? [];
  if (high === undefined || low === undefined) return {};
  const atMs = Number.parseInt(high + low, 16);
  return {
    since: new Date(atMs - SLACK_MS).toISOString(),
    until: new Date(atMs + SLACK_MS).toISOString(),
  };
}
