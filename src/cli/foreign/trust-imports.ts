import { OPEN_CALLER } from '../../coordinator/authentication/caller.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import type { TrustImportsBody, TrustResult } from '../../core/contract/events.js';
import type { CommandContext } from '../context.js';
import { failureWithCode } from '../exit.js';
import { withCoordinator } from '../open-store.js';
import { countText, firstLines, joinFirst, singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import type { ImportTarget } from './import-target.js';

/** The reason that is recorded in the log. */
const REASON = 'gen import --trust-imports';
/** Maximum number of edges in the text; the JSON has more. */
const SHOWN_MAX = 20;

type TrustCall = (body: TrustImportsBody) => Promise<TrustResult>;

/** Makes the convergences imported into the target authoritative, in several calls if necessary. A dry run only lists them. */
export async function trustAllImports(
  context: CommandContext,
  target: ImportTarget,
  isDryRun: boolean,
): Promise<TrustResult> {
  const body = isDryRun ? { reason: REASON, dry_run: true } : { reason: REASON };
  return withTrust(context, target, async (trust) => {
    let reply = await trust(body);
    const trusted = [...reply.trusted];
    // A call that trusts nothing is the last one, so that the loop ends whatever the server replies.
    while (reply.more && !isDryRun && reply.trusted.length > 0) {
      reply = await trust(body);
      trusted.push(...reply.trusted);
    }
    return { ...reply, trusted };
  });
}

async function withTrust(
  context: CommandContext,
  { projectKey, destination }: ImportTarget,
  work: (trust: TrustCall) => Promise<TrustResult>,
): Promise<TrustResult> {
  if (destination.kind === 'store') {
    // Access to the store is enough to trust imports; the user is recorded.
    const caller = { ...OPEN_CALLER, user_id: await context.agent() };
    return withCoordinator(context, destination.url, ({ coordinator }) =>
      work(async (body) => {
        const reply = await coordinator.imports.trustImports(projectKey, body, caller);
        if (isProblem(reply)) throw failureWithCode(reply.problem, reply.detail);
        return reply;
      }),
    );
  }
  const { url, token } = await context.server();
  const { tenant_id: tenant, project_id: project } = projectKey;
  const genesis = await context.genesisAt({ url, tenant, project }, token);
  return work(async (body) => unwrapReply(await genesis.trustImports(body)));
}

export function trustLines(
  { trusted, skipped, skipped_count, more }: TrustResult,
  isDryRun: boolean,
): string[] {
  if (trusted.length === 0 && skipped_count === 0) return ['No imported log reports work to trust.'];
  const names = trusted.map(({ task_id }) => singleLine(task_id));
  const count = `${countText(trusted.length, 'edge')}${more ? ' or more' : ''}`;
  const trustedText = isDryRun ? 'would be trusted' : 'trusted';
  const lines = [`${count} ${trustedText}${names.length === 0 ? '' : `: ${joinFirst(names, SHOWN_MAX)}`}.`];
  if (skipped_count === 0) return lines;
  const shown = firstLines(
    skipped,
    SHOWN_MAX,
    ({ task_id, next }) => `  ${singleLine(task_id)}: ${singleLine(next)}`,
    () => `  and ${skipped_count - SHOWN_MAX} more`,
  );
  return [...lines, `${skipped_count} skipped:`, ...shown];
}

/** Lines for a dry run of an import: the edges that the log reports as converged, some of which may be unknown here. */
export function reportedLines(reported: readonly string[]): string[] {
  if (reported.length === 0) return ['The log reports no converged edge: there would be nothing to trust.'];
  const count = countText(reported.length, 'edge');
  return [
    `The log reports ${count} as converged: ${joinFirst(reported.map(singleLine), SHOWN_MAX)}. Those that this project has and that were never claimed in it would be trusted.`,
  ];
}
