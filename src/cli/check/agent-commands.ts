import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { agentDigestText } from '../../core/engine/command-line.js';
import type { EdgePlan } from '../../core/engine/edge-plan.js';
import { genCommand, shellQuoted } from '../../core/methodology/definition/command.js';
import type {
  ConstructSettings,
  EvaluateSettings,
} from '../../core/methodology/definition/engine-settings.js';
import { engineError } from '../../engine/engine-error.js';
import type { CommandContext } from '../context.js';
import { type ProjectCommand, unconfirmedCommands } from './confirmed-commands.js';

type AgentSettings = Pick<EdgePlan, 'construct' | 'evaluate'>;

/** The commands of the constructor and of the evaluator. They run with the user's environment and without a sandbox. */
export const agentCommands = ({ construct, evaluate }: AgentSettings): ProjectCommand[] => [
  ...agentCommand('constructor', construct),
  ...agentCommand('evaluator', evaluate),
];

function agentCommand(name: string, settings: ConstructSettings | EvaluateSettings | null): ProjectCommand[] {
  if (settings?.type !== 'command') return [];
  const command = settings.command.map(shellQuoted).join(' ');
  const command_sha256 = sha256Hex(agentDigestText(settings.command));
  return [{ name: `${name} (no sandbox, with your environment)`, command, command_sha256 }];
}

/**
 * Fails the step if one of its commands is not confirmed. The plan of a run may differ from the plan that was confirmed
 * when this command began: a resumed run has the plan of the executor that began it.
 */
export async function assertConfirmed(
  context: CommandContext,
  root: string,
  subject: string,
  commands: readonly ProjectCommand[],
): Promise<void> {
  const [first] = await unconfirmedCommands(context, root, commands);
  if (first === undefined) return;
  throw engineError(
    'configChanged',
    `A command of this run is not confirmed here and was not run: ${first.command}. Start a new run: ${genCommand('iterate', subject)}`,
  );
}
