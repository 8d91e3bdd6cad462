import { join } from 'node:path';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import { runnableCheck } from '../../engine/checks/run-check.js';
import { confirmExplicitly } from '../confirm.js';
import type { CommandContext } from '../context.js';
import { failureWithCode } from '../exit.js';
import { countText, singleLine } from '../output/text.js';
import { JsonRecordFolder, recordName } from '../state/json-record-folder.js';
import { userFolder } from '../state/user-folder.js';

/** A command of a project's check, and its digest. */
export interface ProjectCommand {
  readonly check: EffectiveCheck;
  readonly command_sha256: string;
}

interface Confirmation {
  readonly root: string;
  readonly command: string;
  readonly command_sha256: string;
}

/** Those checks whose commands a person has confirmed for this project. */
export async function checksWithConfirmedCommand(
  context: CommandContext,
  root: string,
  checks: readonly EffectiveCheck[],
): Promise<EffectiveCheck[]> {
  const folder = confirmationsOf(context);
  const confirmed: EffectiveCheck[] = [];
  for (const check of checks) {
    const runnable = runnableCheck(check);
    if ('says' in runnable) continue;
    if ((await folder.get(recordName(root, runnable.command_sha256))) !== null) confirmed.push(check);
  }
  return confirmed;
}

const confirmationsOf = (context: CommandContext) =>
  new JsonRecordFolder<Confirmation>(join(userFolder(context.io), 'confirmed-commands'));

/**
 * Commands come with the repository, whose author may be anyone. Each is run only after a person has confirmed it once
 * for this project; a changed command is another one. The confirmations belong to the user, not to the repository.
 */
export async function confirmCommands(
  context: CommandContext,
  root: string,
  commands: readonly ProjectCommand[],
  { isConfirmed, howToConfirm }: { readonly isConfirmed: boolean; readonly howToConfirm: string },
): Promise<void> {
  const folder = confirmationsOf(context);
  const nameOf = ({ command_sha256 }: ProjectCommand) => recordName(root, command_sha256);
  const unconfirmed: ProjectCommand[] = [];
  for (const command of commands) if ((await folder.get(nameOf(command))) === null) unconfirmed.push(command);
  if (unconfirmed.length === 0) return;
  const lines = unconfirmed.map(
    ({ check }) => `  ${singleLine(check.name)}: ${singleLine(check.command ?? '')}`,
  );
  const what = `${countText(unconfirmed.length, 'command')} of this repository`;
  if (isConfirmed) context.printNotice([`Confirmed in ${singleLine(root)}:`, ...lines].join('\n'));
  else {
    context.printNotice([`Not yet confirmed in ${singleLine(root)}:`, ...lines].join('\n'));
    if (!(await confirmExplicitly(context, `Run ${what}?`)))
      throw failureWithCode(
        'COMMAND_NOT_CONFIRMED',
        `${what} must be confirmed by a person before the first run. Read the list above, then: ${howToConfirm}. Nothing was run.`,
      );
  }
  for (const command of unconfirmed) {
    const { check, command_sha256 } = command;
    await folder.put(nameOf(command), { root, command: check.command ?? '', command_sha256 });
  }
}
