import { Option } from 'commander';
import type { CreatedApiKey } from '../../coordinator/wire/index.js';
import { ROLES, type Role } from '../../core/roles.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode } from '../exit.js';
import { withStore } from '../open-store.js';
import { parseSeconds } from '../option-parsers.js';
import { table } from '../output/table.js';
import { clockTime } from '../output/text.js';
import { unwrapReply } from '../replies.js';

interface CreateOptions {
  readonly role: Role;
  readonly expires?: number;
  readonly user?: string;
  readonly label?: string;
  readonly store?: string;
}

export const addKey: AddCommands = (program, wrapAction) => {
  const key = program.command('key').description('the keys by which others are let in');
  key
    .command('create')
    .description('make a key; its token is shown this once')
    .addOption(new Option('--role <role>', 'what its bearer may do').choices(ROLES).default('agent'))
    .option('--expires <time>', 'good for so long, as in 12h or 90d (default: for ever)', parseSeconds)
    .option('--user <id>', 'the person it stands for')
    .option('--label <text>', 'what you know it by')
    .option(
      '--store <url>',
      'make it in a store that no server has open: the first key for a server on the network, or the way back in',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gen key create --role admin\n  export GENESIS_TOKEN=$(gen key create --role agent --expires 30d)\n  gen key create --role operator --store file:.genesis/log',
    )
    .action(wrapAction(create));
  key.command('list').description('every key of this tenant, without its secret').action(wrapAction(list));
  key.command('revoke <key_id>').description('let its bearer in no more').action(wrapAction(revoke));
};

/** Prints only the token on standard output, so that a script can assign it to a variable. */
async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { role, expires, user, label, store } = options;
  const request = {
    role,
    ...(expires === undefined ? {} : { expires_in_seconds: expires }),
    ...(user === undefined ? {} : { user_id: user }),
    ...(label === undefined ? {} : { label }),
  };
  const key =
    store === undefined
      ? unwrapReply(await (await context.genesisForTenant()).createKey(request))
      : await createKeyInStore(context, store, request);
  // The token is not stored anywhere, so a repeated request returns none.
  if (key.token === null) throw new CommandFailure(key.next ?? 'The token was lost on its way.');
  context.show(key, ({ token }) => String(token));
  context.printNotice(
    `The key ${key.key_id} has role ${role}. Keep the token (GENESIS_TOKEN): it is not shown again.`,
  );
}

/** Creates a key in the store directly. Access to the store is enough to create a key of any role. */
async function createKeyInStore(
  context: CommandContext,
  url: string,
  request: { role: Role },
): Promise<CreatedApiKey> {
  const { Coordinator, isProblem } = await import('../../coordinator/index.js');
  return withStore(context, url, async ({ store }) => {
    const coordinator = await Coordinator.open({ store });
    const key = await coordinator.keys.create({ tenant_id: context.tenant, platform: true }, request);
    coordinator.close();
    if (isProblem(key)) throw failureWithCode(key.problem, key.detail);
    return key;
  });
}

async function list(context: CommandContext): Promise<void> {
  const reply = unwrapReply(await (await context.genesisForTenant()).keys());
  context.show(reply, ({ keys }) => {
    if (keys.length === 0) return 'There are no keys.';
    return table(
      keys,
      [
        { head: 'Key', cell: ({ key_id }) => key_id },
        { head: 'Role', cell: ({ role }) => role },
        { head: 'State', cell: ({ state }) => state },
        { head: 'Label', cell: ({ label }) => label ?? '', is_flexible: true },
        { head: 'User', cell: ({ user_id }) => user_id ?? '', is_flexible: true },
        { head: 'Ends in', cell: ({ last_four }) => last_four },
        { head: 'Created (UTC)', cell: ({ created_at }) => clockTime(created_at) },
        { head: 'Expires (UTC)', cell: ({ expires_at }) => clockTime(expires_at) },
      ],
      context.io.columns,
    );
  });
}

async function revoke(context: CommandContext, keyId: string): Promise<void> {
  const reply = unwrapReply(await (await context.genesisForTenant()).revokeKey(keyId));
  context.show(reply, () => `The key ${keyId} is revoked.`);
}
