import { isProblem } from '../../coordinator/wire/problem.js';
import type { CreatedApiKey } from '../../core/contract/keys.js';
import { ROLES, type Role } from '../../core/roles.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { confirmAtTerminal } from '../confirm.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode, wrongUsage } from '../exit.js';
import { withCoordinator } from '../open-store.js';
import { parseSecondsOption } from '../option-parsers.js';
import { formatUtc } from '../output/text.js';
import { unwrapReply } from '../replies.js';

const create = defineCommand('create', {
  description: 'create a key; its token is shown only once',
  options: {
    '--role <role>': { about: 'access role of the key', choices: ROLES, default: 'agent' },
    '--agent-role <name>': 'agent role that the key is limited to, such as developer (default: any)',
    '--expires <time>': {
      about: 'lifetime, such as 12h or 90d (default: unlimited)',
      parse: parseSecondsOption,
    },
    '--user <id>': 'user that the key belongs to',
    '--label <text>': 'label of the key',
    '--store <url>':
      'create the key directly in a store that no server has open: for the first key, or to regain access',
  },
  help: '\nThe first key of a server must be able to create the others: role admin, or operator for all tenants. With another role\ngen asks at a terminal whether to create an admin key instead; elsewhere it refuses.\n\nExamples:\n  gen key create --role admin\n  export GENESIS_TOKEN=$(gen key create --role agent --expires 30d)\n  gen key create --agent-role developer --expires 30d\n  gen key create --role operator --store file:.genesis/log',
  /** Prints only the token on standard output, so that a script can assign it to a variable. */
  async run(
    context,
    { role, agentRole: agent_role, expires: expires_in_seconds, user: user_id, label, store },
  ) {
    const request = { role, ...withoutUndefined({ agent_role, expires_in_seconds, user_id, label }) };
    const key =
      store === undefined
        ? await createKeyOnServer(context, request)
        : await createKeyInStore(context, store, request);
    // The token is not stored anywhere, so a repeated request returns none.
    if (key.token === null)
      throw new CommandFailure(key.next ?? 'The reply has no token. Create another key.');
    context.printReply(key, ({ token }) => String(token));
    context.printNotice(
      `Key ${key.key_id} has role ${key.role}${agentRoleText(key)}. Save the token (GENESIS_TOKEN): it is not shown again.`,
    );
  },
});

const agentRoleText = ({ agent_role }: CreatedApiKey): string =>
  agent_role === null ? '' : `, limited to the agent role ${agent_role}`;

interface KeyRequest {
  readonly role: Role;
}

async function createKeyOnServer(context: CommandContext, request: KeyRequest): Promise<CreatedApiKey> {
  const genesis = await context.genesisForTenant();
  const hasKeys = async () => unwrapReply(await genesis.keys()).keys.length > 0;
  const role = await firstKeyRole(context, request.role, hasKeys);
  return unwrapReply(await genesis.createKey({ ...request, role }));
}

/** Creates a key in the store directly. Access to the store is enough to create a key of any role. */
const createKeyInStore = (
  context: CommandContext,
  url: string,
  request: KeyRequest,
): Promise<CreatedApiKey> =>
  withCoordinator(context, url, async ({ coordinator: { keys } }) => {
    const role = await firstKeyRole(context, request.role, async () => (await keys.openKeyRing()).hasAnyKey);
    const key = await keys.create({ tenant_id: context.tenant, platform: true }, { ...request, role });
    if (isProblem(key)) throw failureWithCode(key.problem, key.detail);
    return key;
  });

/** Roles that may create further keys. */
const KEY_CREATOR_ROLES: readonly Role[] = ['admin', 'operator'];

/**
 * The role of the new key. The first key ends the open access to a server, so all users would be locked out if that key could
 * not create others.
 */
async function firstKeyRole(
  context: CommandContext,
  role: Role,
  hasKeys: () => Promise<boolean>,
): Promise<Role> {
  if (KEY_CREATOR_ROLES.includes(role) || (await hasKeys())) return role;
  const rule = `There are no keys yet, and the first one must be able to create others: a key with role ${role} cannot.`;
  if (await confirmAtTerminal(context, `${rule} Create a key with role admin instead?`)) return 'admin';
  throw wrongUsage(`${rule} Create an admin's key first: gen key create --role admin`);
}

const list = defineCommand('list', {
  description: 'list the keys of this tenant, without secrets',
  async run(context) {
    const reply = unwrapReply(await (await context.genesisForTenant()).keys());
    context.printReply(reply, ({ keys }) => {
      if (keys.length === 0) return 'There are no keys.';
      return context.table(keys, [
        { title: 'Key', cell: ({ key_id }) => key_id },
        { title: 'Role', cell: ({ role }) => role },
        { title: 'Agent role', cell: ({ agent_role }) => agent_role ?? 'any', is_flexible: true },
        { title: 'State', cell: ({ state }) => state },
        { title: 'Label', cell: ({ label }) => label ?? '', is_flexible: true },
        { title: 'User', cell: ({ user_id }) => user_id ?? '', is_flexible: true },
        { title: 'Ends in', cell: ({ last_four }) => last_four },
        { title: 'Created (UTC)', cell: ({ created_at }) => formatUtc(created_at) },
        { title: 'Expires (UTC)', cell: ({ expires_at }) => formatUtc(expires_at) },
      ]);
    });
  },
});

const revoke = defineCommand('revoke <key_id>', {
  description: 'revoke a key',
  async run(context, keyId) {
    const reply = unwrapReply(await (await context.genesisForTenant()).revokeKey(keyId));
    context.printReply(reply, () => `Key ${keyId} is revoked.`);
  },
});

export const keyCommand = defineCommand('key', {
  description: 'manage API keys',
  subcommands: [create, list, revoke],
});
