import { PROJECT_KINDS } from '../../workspace/project-kinds.js';
import { defineCommand } from '../command.js';

export const initCommand = defineCommand('init', {
  description: 'create a workspace here: topology, edges, profiles, roles, constraints, inboxes and a log',
  options: {
    '--name <text>': 'project name; the project id is derived from it',
    '--kind <kind>': { about: 'kind of project; a library uses the full profile', choices: PROJECT_KINDS },
    '--language <name>': 'programming language',
    '--test-runner <command>': 'command that runs the tests',
    '--intent <text>': 'purpose of the project',
    '--force': 'overwrite the files under graph/; no other file is ever overwritten',
  },
  help: '\nAt a terminal, gen init without options asks five questions before it creates a workspace. Existing files are kept, but\nmissing lines are added to .gitignore files.\n\nExamples:\n  gen init\n  gen init --name shop --kind service --intent "Sell books"\n  gen init --force',
  // Imported lazily, to keep --help fast.
  run: async (context, options) => (await import('../workspace/init.js')).initHere(context, options),
});
