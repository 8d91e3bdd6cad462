import type { EffectiveCheck } from '../../core/contract/checks.js';
import { submitCandidateCommand } from '../../core/engine/holder-advice.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { CommandContext } from '../context.js';
import { singleLine } from '../output/text.js';
import type { EdgeGrant } from './edge-grant.js';

/** The lines about a granted edge: its title, the draft folder, the checks, and how to submit. */
export function edgeGrantLines(context: CommandContext, grant: EdgeGrant, taskId: string): string[] {
  const { draft_folder, title, checks } = grant;
  const { paint } = context;
  const lines = title === null ? [''] : [...context.wrap(title, 2), ''];
  lines.push(`  Write to   ${draft_folder ?? 'any folder: there is no workspace here'}`);
  if (draft_folder !== null) lines.push(...context.labelled('', PATHS_HINT, 13).map(paint.dim));
  if (checks.length > 0) lines.push('', '  Checks:');
  lines.push(...checks.flatMap((check) => checkLines(check, context)));
  return [...lines, '', ...whenDoneLines(grant, taskId, context.repeatedOptions())];
}

/**
 * How to submit. Under the policy `evidence: verified` the result of an edge with deterministic checks must first be proposed.
 * Only drafts can be proposed, so `--file` is not offered then.
 */
function whenDoneLines({ draft_folder, checks, needs_evidence }: EdgeGrant, taskId: string, options: string) {
  if (needs_evidence) {
    return [
      `When done: ${genCommand('task', 'propose', taskId)}${options}`,
      `When a runner has recorded that the checks passed (${genCommand('task', 'explain', taskId)}${options}): ${submitCandidateCommand(taskId, checks)}${options}`,
    ];
  }
  const result = draft_folder === null ? '--file RESULT' : '--drafts';
  const report = checks.some(({ type }) => type !== 'human') ? ' --check NAME=pass …' : '';
  return [`When done: gen task submit ${taskId} ${result}${report}${options}`];
}

const PATHS_HINT =
  'Write each file under its path in the project: docs/a.md goes to docs/a.md in that folder.';

function checkLines(check: EffectiveCheck, { paint, wrap }: CommandContext): string[] {
  const { name, type, criterion, required, command, skipped } = check;
  const checkedBy = type === 'human' ? 'a person, in gen review' : type;
  const lines = [`    ${singleLine(name)} (${checkedBy}${required ? '' : ', not required'})`];
  if (criterion !== '') lines.push(...wrap(criterion, 6).map(paint.dim));
  if (command !== undefined) lines.push(paint.dim(`      $ ${singleLine(command)}`));
  if (skipped !== null) lines.push(...wrap(`Skipped: ${skipped}`, 6).map(paint.dim));
  return lines;
}
