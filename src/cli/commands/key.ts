import { Option } from 'commander';
import type { KeyCreated } from '../../coordinator/wire.js';
import { ROLES, type Role } from '../../core/roles.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, failed } from '../exit.js';
import { withStore } from '../open-store.js';
import { table } from '../output/table.js';
import { clockTime } from '../output/text.js';
import { seconds } from '../read-options.js';
import { expected } from '../replies.js';

interface CreateOptions {
  readonly role: Role;
  readonly expires?: number;
  readonly user?: string;
  readonly label?: string;
  readonly store?: string;
}

export const addKey: AddCommands = (program, act) => {
  const key = program.command('key').description('the keys by which others are let in');
  key
    .command('create')
    .description('make a key; its token is shown this once')
    .addOption(new Option('--role <role>', 'what its bearer may do').choices(ROLES).default('agent'))
    .option('--expires <time>', 'good for so long, as in 12h or 90d (default: for ever)', seconds)
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
    .action(act(create));
  key.command('list').description('every key of this tenant, without its secret').action(act(list));
  key.command('revoke <key_id>').description('let its bearer in no more').action(act(revoke));
};

/** The token alone on standard output, so that it can go straight into a variable. */
async function create(context: Context, options: CreateOptions): Promise<void> {
  const { role, expires, user, label, store } = options;
  const asked = {
    role,
    ...(expires === undefined ? {} : { expires_in_seconds: expires }),
    ...(user === undefined ? {} : { user_id: user }),
    ...(label === undefined ? {} : { label }),
  };
  const key =
    store === undefined
      ? expected(await (await context.genesisOfTenant()).createKey(asked))
      : await createIn(context, store, asked);
  // A request that had to be repeated gets no token: it is kept nowhere.
  if (key.token === null) throw new CommandFailure(key.next ?? 'The token was lost on its way.');
  context.show(key, ({ token }) => String(token));
  context.remark(
    `The key ${key.key_id} has role ${role}. Keep the token (GENESIS_TOKEN): it is not shown again.`,
  );
}

/** Whoever can open the store itself may make any key in it. */
async function createIn(context: Context, url: string, asked: { role: Role }): Promise<KeyCreated> {
  const { Coordinator, isProblem } = await import('../../coordinator/index.js');
  return withStore(context, url, async ({ store }) => {
    const coordinator = await Coordinator.open({ store });
    const key = await coordinator.keys.create({ tenant_id: context.tenant, platform: true }, asked);
    coordinator.close();
    if (isProblem(key)) throw failed(key.problem, key.detail);
    return key;
  });
}

async function list(context: Context): Promise<void> {
  const reply = expected(await (await context.genesisOfTenant()).keys());
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

async function revoke(context: Context, key_id: string): Promise<void> {
  const reply = expected(await (await context.genesisOfTenant()).revokeKey(key_id));
  context.show(reply, () => `The key ${key_id} is revoked.`);
}
