import { join } from 'node:path';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import { runnableCheck } from '../../engine/checks/execute-check.js';
import { confirmExplicitly } from '../confirm.js';
import type { CommandContext } from '../context.js';
import { failureWithCode } from '../exit.js';
import { countText, singleLine } from '../output/text.js';
import { JsonRecordFolder, recordName } from '../state/json-record-folder.js';
import { userFolder } from '../state/user-folder.js';

/** A command that comes with the repository, and its digest. */
export interface ProjectCommand {
  /** The check that runs the command, or the constructor or evaluator. */
  readonly name: string;
  readonly command: string;
  readonly command_sha256: string;
}

interface Confirmation {
  readonly root: string;
  readonly command: string;
  readonly command_sha256: string;
}

/** The checks whose commands a person has confirmed for this project. */
export async function checksWithConfirmedCommand(
  context: CommandContext,
  root: string,
  checks: readonly EffectiveCheck[],
): Promise<EffectiveCheck[]> {
  const confirmed: EffectiveCheck[] = [];
  for (const check of checks) {
    const commands = checkCommands([check]);
    if (commands.length > 0 && (await unconfirmedCommands(context, root, commands)).length === 0)
      confirmed.push(check);
  }
  return confirmed;
}

/** The commands of the deterministic checks that can be run. */
export const checkCommands = (checks: readonly EffectiveCheck[]): ProjectCommand[] =>
  checks.flatMap((check) => {
    const runnable = check.type === 'deterministic' ? runnableCheck(check) : null;
    if (runnable === null || 'says' in runnable) return [];
    return [{ name: check.name, command: check.command ?? '', command_sha256: runnable.command_sha256 }];
  });

const confirmationsOf = (context: CommandContext) =>
  new JsonRecordFolder<Confirmation>(join(userFolder(context.io), 'confirmed-commands'));

/** The commands that no person has confirmed for this project. */
export async function unconfirmedCommands(
  context: CommandContext,
  root: string,
  commands: readonly ProjectCommand[],
): Promise<ProjectCommand[]> {
  const folder = confirmationsOf(context);
  const unconfirmed: ProjectCommand[] = [];
  for (const command of commands)
    if ((await folder.get(recordName(root, command.command_sha256))) === null) unconfirmed.push(command);
  return unconfirmed;
}

/**
 * Requires that a person has confirmed the commands, or confirms them now. Commands come with the repository, whose author may
 * be anyone: each must be confirmed once for this project, and again after it has changed. The confirmations are stored in
 * the user's folder, not in the repository.
 */
export async function confirmCommands(
  context: CommandContext,
  root: string,
  commands: readonly ProjectCommand[],
  { isConfirmed, howToConfirm }: { readonly isConfirmed: boolean; readonly howToConfirm: string },
): Promise<void> {
  const unconfirmed = await unconfirmedCommands(context, root, commands);
  if (unconfirmed.length === 0) return;
  const lines = unconfirmed.map(({ name, command }) => `  ${singleLine(name)}: ${singleLine(command)}`);
  const commandsText = `${countText(unconfirmed.length, 'command')} of this repository`;
  if (isConfirmed) context.printNotice([`Confirmed in ${singleLine(root)}:`, ...lines].join('\n'));
  else {
    context.printNotice([`Not yet confirmed in ${singleLine(root)}:`, ...lines].join('\n'));
    if (!(await confirmExplicitly(context, `Run ${commandsText}?`)))
      throw failureWithCode(
        'COMMAND_NOT_CONFIRMED',
        `${commandsText} must be confirmed by a person before the first run. Read the list above, then: ${howToConfirm}. Nothing was run.`,
      );
  }
  const folder = confirmationsOf(context);
  for (const { command, command_sha256 } of unconfirmed)
    await folder.put(recordName(root, command_sha256), { root, command, command_sha256 });
}
