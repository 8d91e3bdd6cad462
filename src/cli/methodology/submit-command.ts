import { genCommand } from '../../core/methodology/definition/command.js';

interface EdgeStep {
  readonly feature: string | null;
  readonly edge: string | null;
}

/** In a workspace, agents write to drafts, so the suggested submit command needs `--drafts`. */
export const submitWithDrafts = ({ feature, edge }: EdgeStep, command: string): string =>
  command === genCommand('task', 'submit', `${feature}#${edge}`) ? `${command} --drafts` : command;
