import type { Command } from 'commander';

const WIDTH = 100;

/** The command reference: the `--help` output of every command on one page. */
export function commandReference(program: Command): string {
  return [helpOf(program, 'gen'), ...pagesOf(program, 'gen')].join('\n');
}

function pagesOf(command: Command, path: string): string[] {
  const shown = command.createHelp().visibleCommands(command);
  return command.commands
    .filter((each) => shown.includes(each))
    .flatMap((each) => {
      const name = `${path} ${each.name()}`;
      return [helpOf(each, name), ...pagesOf(each, name)];
    });
}

function helpOf(command: Command, name: string): string {
  command.configureHelp({ helpWidth: WIDTH, showGlobalOptions: false });
  let text = '';
  command.configureOutput({
    writeOut: (written) => {
      text += written;
    },
  });
  command.outputHelp();
  return `### ${name}\n\n\`\`\`text\n${text.trim()}\n\`\`\`\n`;
}
