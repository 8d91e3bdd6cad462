import { parseArgs } from 'node:util';
import { isProblem } from '../../client/replies.js';
import type { CommandContext, GlobalOptions } from '../context.js';
import type { Io } from '../io.js';
import type { HookContext } from './hooks.js';
import { type HookName, isHookName, runHook } from './run-hook.js';

const TEXT_OPTION = { type: 'string' } as const;
const OPTIONS = {
  url: TEXT_OPTION,
  tenant: TEXT_OPTION,
  project: TEXT_OPTION,
  agent: TEXT_OPTION,
  session: TEXT_OPTION,
} as const;

/**
 * Runs `gen hook VERB` as `gen setup` writes it, if possible without loading the rest of the program. False for any other
 * command line, which the program must run.
 */
export async function runFastHook(argv: readonly string[], io: Io): Promise<boolean> {
  const parsed = parseHookArguments(argv);
  if (parsed === null) return false;
  const { name, values } = parsed;
  const { url, tenant, project: projectId } = { ...environmentTarget(io), ...values };
  const renewal = url && projectId ? lightRenewal(io, url, tenant || 'default', projectId) : null;
  await runRenewing(io, name, values, renewal);
  return true;
}

/** Renews with one unsigned request, without loading the rest of the program. */
function lightRenewal(io: Io, url: string, tenant: string, projectId: string): HookContext['renew'] {
  const path = `/api/tenants/${encodeURIComponent(tenant)}/projects/${encodeURIComponent(projectId)}`;
  return async ({ generation, ...holder }) => {
    const { postJson } = await import('./post-json.js');
    const body = { ...holder, expected_generation: generation };
    return postJson(`${url.replace(/\/+$/, '')}${path}/claims/renew`, body, io.env.GENESIS_TOKEN || null);
  };
}

/**
 * Runs the hook, which renews leases. The server and project default to the workspace's. The rest of the program is loaded
 * only for a renewal that needs the workspace or a signature.
 */
async function runRenewing(
  io: Io,
  name: HookName,
  values: GlobalOptions,
  renewWithoutProgram: HookContext['renew'] | null,
): Promise<void> {
  const load = async () => new (await import('../context.js')).CommandContext(io, values);
  const loading: { context?: Promise<CommandContext> } = {};
  await runHook(io, name, async (handle) => {
    const reply = await renewWithoutProgram?.(handle);
    const shouldSign = isProblem(reply) && reply.code === 'SIGNATURE_REQUIRED';
    if (reply !== undefined && !shouldSign) return reply;
    const { generation, ...holder } = handle;
    // One context for all renewals, because it may start a server.
    loading.context ??= load();
    const genesis = await (await loading.context).genesis();
    return genesis.renewLease({ ...holder, expected_generation: generation });
  });
  await (await loading.context)?.close();
}

const environmentTarget = ({ env }: Io) => ({
  url: env.GENESIS_URL,
  tenant: env.GENESIS_TENANT,
  project: env.GENESIS_PROJECT,
});

function parseHookArguments(argv: readonly string[]) {
  try {
    const { positionals, values } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    const [hook, name, ...others] = positionals;
    return hook === 'hook' && isHookName(name) && others.length === 0 ? { name, values } : null;
  } catch {
    // An option that only the whole program accepts.
    return null;
  }
}
