import { genCommand } from '../../core/methodology/definition/command.js';

interface EdgeStep {
  readonly feature: string | null;
  readonly edge: string | null;
}

/** The suggested command, with `--drafts` if it submits: in a workspace, agents write to drafts. */
export const submitWithDrafts = ({ feature, edge }: EdgeStep, command: string): string =>
  command === genCommand('task', 'submit', `${feature}#${edge}`) ? `${command} --drafts` : command;
