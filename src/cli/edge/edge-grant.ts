import type { OwnedClaim } from '../../client/index.js';
import type { EffectiveCheck } from '../../core/methodology/definition/checklist.js';
import { subjectKindOf } from '../../core/subject.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { singleLine } from '../output/text.js';
import { labelledLines, wrapLines } from '../output/wrap.js';
import { unwrapReply } from '../replies.js';

/** What the grant of an edge carries beside the claim. */
export interface EdgeGrant {
  /**
   * Where the agent writes, relative to the project's root; null without a workspace, or if no folder could be
   * created.
   */
  readonly work: string | null;
  /** The feature's title; null if the project has none. */
  readonly title: string | null;
  readonly checks: readonly EffectiveCheck[];
}

/** Returns null if the claim is on a task. */
export async function edgeGrant(context: CommandContext, claim: OwnedClaim): Promise<EdgeGrant | null> {
  if (subjectKindOf(claim.task_id) !== 'edge') return null;
  const genesis = await context.genesis();
  const { title = null, checks = [] } = unwrapReply(await genesis.task(claim.task_id));
  return { work: await createDraftFolder(context, claim), title, checks };
}

async function createDraftFolder(context: CommandContext, claim: OwnedClaim): Promise<string | null> {
  const workspace = Workspace.find(context.io.cwd);
  if (workspace === null) return null;
  // Lazy import: claims on tasks do not pay its load time.
  const { createGrantFolders, isDraftRefusal: isRefusal } = await import('../../workspace/drafts/index.js');
  const { agent_id, task_id: subject, generation } = claim;
  const isolation = await createGrantFolders(workspace, { agent_id, subject, generation });
  if (!isRefusal(isolation)) return isolation.work;
  context.printNotice(singleLine(`There is no folder for the drafts: ${isolation.says} ${isolation.next}`));
  return null;
}

/** The title, the draft folder, the checks, and how to submit. */
export function edgeGrantLines(
  { io, paint }: CommandContext,
  { work, title, checks }: EdgeGrant,
  taskId: string,
): string[] {
  const lines = title === null ? [''] : [...wrapLines(title, 2, io.columns), ''];
  lines.push(`  Write to   ${work ?? 'wherever you like: there is no workspace here'}`);
  if (work !== null) lines.push(...labelledLines('', PATHS_HINT, 13, io.columns).map(paint.dim));
  if (checks.length > 0) lines.push('', '  It will be asked to pass:');
  lines.push(...checks.flatMap((check) => checkLines(check, io.columns, paint.dim)));
  const result = work === null ? '--file RESULT' : '--drafts';
  const report = checks.some(({ type }) => type !== 'human') ? ' --check NAME=pass …' : '';
  return [...lines, '', `When it is done: gen task submit ${taskId} ${result}${report}`];
}

const PATHS_HINT =
  'Each file goes there under its path in the project: what is to be docs/a.md is written to docs/a.md in that folder.';

function checkLines(check: EffectiveCheck, width: number | null, dim: (text: string) => string): string[] {
  const { name, type, criterion, required, command, skipped } = check;
  const by = type === 'human' ? 'a human, in gen review' : type;
  const lines = [`    ${singleLine(name)} (${by}${required ? '' : ', not required'})`];
  if (criterion !== '') lines.push(...wrapLines(criterion, 6, width).map(dim));
  if (command !== undefined) lines.push(dim(`      $ ${singleLine(command)}`));
  if (skipped !== null) lines.push(...wrapLines(`Cannot be run: ${skipped}`, 6, width).map(dim));
  return lines;
}
