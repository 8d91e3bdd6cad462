import { lstat, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseDocument } from 'yaml';
import { DEFAULT_FILES } from '../core/methodology/definition/defaults.generated.js';
import type { DetectedTools } from './detect-tools.js';
import { addMissingCliIgnores, addMissingIgnores } from './git-ignore.js';
import { COORDINATION_FILE, idFromName } from './project-file.js';
import { initialProfileOf, type ProjectKind } from './project-kinds.js';
import { INTENT_FILE, Workspace, WorkspaceError } from './workspace.js';

/** The answers for a new project. A missing answer is empty. */
export interface InitAnswers {
  readonly name: string;
  readonly kind: ProjectKind;
  readonly language: string;
  readonly test_runner: string;
  readonly intent: string;
}

/** What happened to each file, by its path relative to the project's root. */
export interface InitReport {
  readonly made: string[];
  /** Files that existed already and are unchanged. */
  readonly kept: string[];
  readonly renewed: string[];
}

/** Folders in which agents and the serialiser write. */
const WORK_FOLDERS = ['features/active', 'events/inbox', 'events/outcome', 'events/broken', 'agents'];
const FOLDERS = [
  ...WORK_FOLDERS,
  'context',
  'features/completed',
  'features/fold-back',
  'snapshots',
  'reviews',
];

/**
 * Creates a workspace. To an existing workspace, adds only missing work folders and lines of `.gitignore`, the file that
 * identifies the project, and the files whose content an option gives. The other defaults apply from the program, because a
 * default in a file could contradict the project's own topology. Existing files stay; `renewsGraph` replaces those of the graph.
 */
export async function initWorkspace(
  root: string,
  answers: InitAnswers,
  guess: DetectedTools,
  renewsGraph: boolean,
  filesFromOptions: ReadonlySet<string>,
): Promise<InitReport> {
  const workspace = new Workspace(root);
  const existing = await lstat(workspace.folder).catch(() => null);
  if (existing !== null && !existing.isDirectory()) {
    throw new WorkspaceError(`${workspace.folder} is not a folder. Move it away, then run gen init again.`);
  }
  const isNew = existing === null;
  for (const folder of isNew ? FOLDERS : WORK_FOLDERS)
    await mkdir(workspace.path(folder), { recursive: true });
  const report: InitReport = { made: [], kept: [], renewed: [] };
  for (const [name, text] of filesFor(answers, guess)) {
    const renew = renewsGraph && name.startsWith('.ai-workspace/graph/');
    const isWanted = isNew || renew || filesFromOptions.has(name) || name === COORDINATION_PATH;
    if (isWanted) report[await writeDefaultFile(join(root, name), text, renew)].push(name);
    else if (await pathExists(join(root, name))) report.kept.push(name);
  }
  await ignoreOwnFiles(workspace, report);
  return report;
}

const pathExists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

const COORDINATION_PATH = `.ai-workspace/${COORDINATION_FILE}`;

/** Makes git ignore secrets and handles. Existing lines stay. */
async function ignoreOwnFiles(workspace: Workspace, report: InitReport): Promise<void> {
  const cliFolder = join(workspace.root, '.genesis');
  const ignoreFiles = [
    { name: '.ai-workspace/.gitignore', add: () => addMissingIgnores(workspace) },
    { name: '.genesis/.gitignore', add: () => addMissingCliIgnores(cliFolder) },
  ];
  for (const { name, add } of ignoreFiles) {
    const isNew = !(await pathExists(join(workspace.root, name)));
    const added = await add();
    if (added.length > 0) report[isNew ? 'made' : 'renewed'].push(name);
    else report.kept.push(name);
  }
}

/** File contents by path relative to the project's root. */
function filesFor(answers: InitAnswers, guess: DetectedTools): Map<string, string> {
  const files = new Map([...DEFAULT_FILES].map(([name, text]) => [`.ai-workspace/${name}`, text]));
  const coordination = DEFAULT_FILES.get(COORDINATION_FILE) ?? '';
  files.set(`.ai-workspace/${COORDINATION_FILE}`, `${projectText(answers.name)}\n${coordination}`);
  files.set('.ai-workspace/context/project_constraints.yml', constraintsText(answers, guess));
  files.set(INTENT_FILE, intentText(answers));
  return files;
}

const projectText = (name: string): string =>
  `# Identifies this project. Do not change project_id: the log keeps it.\nproject:\n  name: ${JSON.stringify(name)}\n` +
  `  project_id: ${JSON.stringify(idFromName(name))}\n  tenant_id: default\n`;

/** The default file with its comments, with the known values filled in. */
function constraintsText({ name, kind, language, test_runner }: InitAnswers, guess: DetectedTools): string {
  const document = parseDocument(DEFAULT_FILES.get('context/project_constraints.yml') ?? '');
  document.setIn(['project', 'name'], name);
  // Other projects depend on a library, so it gets every check.
  document.setIn(['project', 'default_profile'], initialProfileOf(kind));
  document.setIn(['language', 'primary'], language);
  const tools = { ...guess.tools, ...(test_runner === '' ? {} : { test_runner }) };
  for (const [tool, command] of Object.entries(tools)) {
    if (document.hasIn(['tools', tool])) document.setIn(['tools', tool, 'command'], command);
  }
  return document.toString();
}

const intentText = ({ name, intent }: InitAnswers): string =>
  `# Intent: ${name.replace(/\s+/g, ' ')}\n\n` +
  (intent === ''
    ? '<!-- What is this for, and for whom? Work starts from what you write here. -->\n'
    : `${intent}\n`);

/** Writes a file that is missing, or, if `mayReplace`, one that has other content. Returns what happened to it. */
async function writeDefaultFile(path: string, text: string, mayReplace: boolean): Promise<keyof InitReport> {
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(path, text, { flag: 'wx' });
    return 'made';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (!mayReplace || (await readFile(path, 'utf8')) === text) return 'kept';
  await writeFile(`${path}.tmp`, text);
  await rename(`${path}.tmp`, path);
  return 'renewed';
}
