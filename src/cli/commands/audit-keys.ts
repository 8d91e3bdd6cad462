import { resolve } from 'node:path';
import type { AuditKeyList } from '../../core/contract/audit.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import { showDecision, unwrapReply } from '../replies.js';
import { auditKeySetting } from '../state/audit-key-setting.js';

const REASON_OPTION = {
  '--reason <text>': { about: 'reason, recorded in the log', required: true },
} as const;

const keys = defineCommand('keys', {
  description: 'list the keys that signed checkpoints of the log',
  async run(context) {
    const reply = unwrapReply(await (await context.genesis()).auditKeys());
    context.printReply(reply, (list) =>
      list.keys.length === 0 ? 'There are no audit keys.' : keyTable(context, list),
    );
  },
});

const replace = defineCommand('replace <key_id>', {
  description: "revoke a lost audit key and enrol the server's current key in its place",
  options: REASON_OPTION,
  help: '\nKEY_ID is the lost key. Start the server with a new key first.\n\nExample:\n  gen audit replace 5c0e1f7a2b3d4e6f --reason "the disk with the key is lost"',
  async run(context, keyId, { reason }) {
    const client = await context.genesis();
    const reply = unwrapReply(await client.auditReplaceKey({ key_id: keyId, reason }));
    showDecision(context, reply, (list) => `Key ${keyId} is replaced.\n${keyTable(context, list)}`);
  },
});

const revoke = defineCommand('revoke <key_id>', {
  description: 'revoke an audit key; signatures that it makes from now on are invalid',
  options: REASON_OPTION,
  help: '\nExample:\n  gen audit revoke 5c0e1f7a2b3d4e6f --reason "it was copied"',
  async run(context, keyId, { reason }) {
    const client = await context.genesis();
    const reply = unwrapReply(await client.auditRevokeKey({ key_id: keyId, reason }));
    showDecision(context, reply, ({ next }) =>
      next === undefined ? `Key ${keyId} is revoked.` : `Key ${keyId} is revoked. ${next}`,
    );
  },
});

const rotate = defineCommand('rotate', {
  description:
    'replace the audit key of this machine with a new one; the old key is kept, to sign the new one',
  help: '\nNeeds no server. The old key is kept beside the key file, with the suffix .previous.\n\nExample:\n  gen audit rotate',
  async run(context) {
    const { io } = context;
    const setting = auditKeySetting(io);
    // Imported lazily, to keep --help fast.
    const { signingCommandOf } = await import('../../server/audit/open-signer.js');
    const { rotateKeyFile } = await import('../../server/audit/rotate-key.js');
    if (signingCommandOf(setting) !== null)
      throw new CommandFailure(
        'GENESIS_AUDIT_KEY is a command, so there is no key file to rotate. Set GENESIS_AUDIT_KEY to the command of the new ' +
          'key and GENESIS_AUDIT_PREVIOUS_KEY to the command of the old key, and restart the coordinators.',
      );
    const rotated = await rotateKeyFile(resolve(io.cwd, setting)).catch(throwRotationFailure);
    context.printReply(rotated, ({ old_key_id, new_key_id }) => [
      `Old key  ${old_key_id}`,
      `New key  ${new_key_id}`,
      'Restart the coordinators that use this key; each project then records the new key, signed by the old one.',
    ]);
  },
});

export const AUDIT_KEY_COMMANDS = [keys, rotate, replace, revoke] as const;

function throwRotationFailure({ message, code }: NodeJS.ErrnoException): never {
  if (code === undefined) throw new CommandFailure(message);
  throw new CommandFailure(
    `The audit key could not be rotated completely (${message}). No key is lost: correct this, and run gen audit rotate again.`,
  );
}

const keyTable = (context: CommandContext, list: AuditKeyList): string =>
  context.table(list.keys, [
    { title: 'Key', cell: ({ key_id }) => key_id },
    { title: 'State', cell: ({ state }) => state },
    { title: 'Enrolled', cell: ({ how }) => how },
    { title: 'Public key', cell: ({ public_key }) => public_key },
  ]);
