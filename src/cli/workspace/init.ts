import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { ReadStream } from 'node:tty';
import { isProblem } from '../../client/replies.js';
import { isProblem as isCoordinatorProblem } from '../../coordinator/wire/problem.js';
import { hasIntent } from '../../core/methodology/definition/intent.js';
import { ACTIVE_FILE } from '../../stores/file/layout.js';
import { readAddress } from '../../workspace/address.js';
import { type DetectedTools, detectTools } from '../../workspace/detect-tools.js';
import { hasForeignLog } from '../../workspace/foreign.js';
import { type InitAnswers, type InitReport, initWorkspace } from '../../workspace/init.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { initialProfileOf, PROJECT_KINDS, type ProjectKind } from '../../workspace/project-kinds.js';
import { configureBodyOf, readWorkspaceFiles } from '../../workspace/read-files.js';
import { INTENT_FILE, Workspace } from '../../workspace/workspace.js';
import { warnAboutProfiles } from '../check/left-out-checks.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import { withCoordinator } from '../open-store.js';
import { countText, singleLine } from '../output/text.js';
import { configure, warnOfFaultsAndWarnings } from './configure.js';

type InitOptions = Partial<Omit<InitAnswers, 'test_runner'> & { testRunner: string; force: true }>;

/** Creates the workspace in this folder, and loads its files into its log. */
export async function initHere(context: CommandContext, options: InitOptions): Promise<void> {
  const root = context.io.cwd;
  const guess = await detectTools(root);
  const answers = await answersFor(context, options, guess);
  const report = await initWorkspace(root, answers, guess, options.force === true, filesOfOptions(options));
  for (const notice of ignoredOptions(options, report)) context.printNotice(notice);
  const workspace = new Workspace(root);
  const foreignLog = (await hasForeignLog(workspace)) ? join(workspace.events, ACTIVE_FILE) : null;
  const isConfigured = foreignLog === null && (await configureLog(context, workspace));
  if (isConfigured) await warnAboutProfiles(context, workspace);
  const isVerified = isConfigured && isNewWorkspace(report) && (await requireEvidence(context, workspace));
  // The intent may have been written now or earlier.
  const hasWrittenIntent = hasIntent(await readFile(join(root, INTENT_FILE), 'utf8').catch(() => ''));
  const evidence = isVerified ? { evidence: 'verified' } : {};
  context.printReply({ ...report, configured: isConfigured, ...evidence }, () =>
    reportLines(context, report, {
      ...{ kind: answers.kind, isConfigured, hasWrittenIntent, isVerified, foreignLog },
    }),
  );
  // A foreign log must be imported first, so it is no failure that the files are not loaded yet.
  if (!isConfigured && foreignLog === null) context.exit_code = EXIT.refused;
}

async function answersFor(
  context: CommandContext,
  options: InitOptions,
  guess: DetectedTools,
): Promise<InitAnswers> {
  const { force: _, testRunner, ...givenAnswers } = options;
  const defaults: InitAnswers = {
    name: basename(context.io.cwd),
    kind: 'application',
    language: guess.language ?? '',
    test_runner: guess.tools.test_runner ?? '',
    intent: '',
    ...givenAnswers,
    ...(testRunner === undefined ? {} : { test_runner: testRunner }),
  };
  const hasOptions = Object.keys(options).length > 0;
  const isNew = Workspace.findOwn(context.io.cwd, context.io.env)?.root !== context.io.cwd;
  const isInteractive =
    isNew && !hasOptions && (context.io.stdin as ReadStream).isTTY === true && !context.is_json;
  return isInteractive ? promptForAnswers(context, defaults) : defaults;
}

/** Asks five questions, each with a default answer. */
async function promptForAnswers({ io }: CommandContext, defaults: InitAnswers): Promise<InitAnswers> {
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  const answers = lines[Symbol.asyncIterator]();
  const askText = async (text: string, defaultAnswer: string): Promise<string> => {
    io.stderr.write(`${text}${defaultAnswer === '' ? '' : ` [${defaultAnswer}]`}: `);
    const { value } = await answers.next();
    return ((value as string | undefined) ?? '').trim() || defaultAnswer;
  };
  try {
    const name = await askText('Project name?', defaults.name);
    const kind = await askText(`Project kind (${PROJECT_KINDS.join(', ')})?`, defaults.kind);
    const language = await askText('Programming language?', defaults.language);
    const test_runner = await askText('Test command?', defaults.test_runner);
    const intent = await askText('Purpose of the project, in one sentence?', defaults.intent);
    const knownKind = PROJECT_KINDS.find((each) => each === kind);
    if (knownKind === undefined) io.stderr.write(`Unknown kind ${kind}: using ${defaults.kind}.\n`);
    return { name, kind: knownKind ?? defaults.kind, language, test_runner, intent };
  } finally {
    lines.close();
  }
}

/** Loads the files into the log, through the server that holds the log if there is one. On failure, warns and returns false. */
async function configureLog(context: CommandContext, workspace: Workspace): Promise<boolean> {
  const { warn } = context;
  try {
    const address = await readAddress(workspace);
    if (address !== null && !('untrusted' in address)) {
      const body = configureBodyOf(await readWorkspaceFiles(workspace));
      const reply = await (await context.genesis()).methodology.init(body);
      warnOfFaultsAndWarnings(warn, reply);
      return !isProblem(reply);
    }
    return await withCoordinator(
      context,
      `workspace:${workspace.root}`,
      async ({ coordinator }) => (await configure(context.warn, workspace, coordinator)) === 'current',
    );
  } catch (error) {
    context.warn((error as Error).message);
    return false;
  }
}

const COORDINATION_FILE = '.ai-workspace/coordination.yml';
/** Whether the workspace is new: an existing project keeps its policy. */
const isNewWorkspace = ({ made }: InitReport): boolean => made.includes(COORDINATION_FILE);

/**
 * Requires the evidence of a runner if a credential is set (GENESIS_TOKEN), because agents are then not trusted with
 * everything. Called for a new workspace only. Returns whether the policy was changed.
 */
async function requireEvidence(context: CommandContext, workspace: Workspace): Promise<boolean> {
  if (!context.hasCredential) return false;
  const change = { evidence: 'verified' } as const;
  const address = await readAddress(workspace);
  const isServed = address !== null && !('untrusted' in address);
  const reply = isServed
    ? await (await context.genesis()).putPolicy(change)
    : await withCoordinator(context, `workspace:${workspace.root}`, async ({ coordinator }) =>
        coordinator.settings.putPolicy(await readProjectKey(workspace), change),
      );
  const isRefused = isProblem(reply) || isCoordinatorProblem(reply);
  if (isRefused) context.warn(`The policy evidence: verified could not be set. ${reply.detail}`);
  return !isRefused;
}

const CONSTRAINTS_FILE = '.ai-workspace/context/project_constraints.yml';
/** Each option, its field in the options, and the file that its answer is written to. */
const OPTION_FILES = [
  ['--name', 'name', COORDINATION_FILE],
  ['--kind', 'kind', CONSTRAINTS_FILE],
  ['--language', 'language', CONSTRAINTS_FILE],
  ['--test-runner', 'testRunner', CONSTRAINTS_FILE],
  ['--intent', 'intent', 'specification/INTENT.md'],
] as const;

const filesOfOptions = (options: InitOptions): ReadonlySet<string> =>
  new Set(OPTION_FILES.filter(([, name]) => options[name] !== undefined).map(([, , file]) => file));

/** Existing files are kept, so options that would have changed them are reported as ignored. */
function ignoredOptions(options: InitOptions, { kept }: InitReport): string[] {
  return OPTION_FILES.filter(([, name, file]) => options[name] !== undefined && kept.includes(file)).map(
    ([option, , file]) => `${option} was ignored: ${file} already exists. Edit that file.`,
  );
}

/** What `gen init` found in the project, as far as its report names it. */
interface ReportedProject {
  readonly kind: ProjectKind;
  readonly isConfigured: boolean;
  readonly hasWrittenIntent: boolean;
  /** Whether deterministic checks need the evidence of a runner. */
  readonly isVerified: boolean;
  /** The log of another tool at the path of the workspace's log; null if there is none. */
  readonly foreignLog: string | null;
}

function reportLines(
  { paint }: CommandContext,
  { made, kept, renewed }: InitReport,
  { kind, isConfigured, hasWrittenIntent, isVerified, foreignLog }: ReportedProject,
): string[] {
  const lines = [`${countText(made.length, 'file')} added to .ai-workspace/, .genesis/ and specification/.`];
  if (renewed.length > 0) lines.push('Changed:', ...renewed.map((file) => `  ${file}`));
  if (kept.length > 0) lines.push('Already existed, left unchanged:', ...kept.map((file) => `  ${file}`));
  if (made.includes(CONSTRAINTS_FILE))
    lines.push(
      `Features use the profile ${initialProfileOf(kind)} (kind ${kind}). To change it, set project.default_profile in ${CONSTRAINTS_FILE}, then run: gen init`,
    );
  if (!isConfigured && foreignLog === null)
    lines.push('The files are not in the log yet. Fix what is reported above, then run: gen init');
  if (isVerified)
    lines.push('Checks that programs decide need the evidence of a runner (policy evidence: verified).');
  lines.push('Next:');
  if (isVerified)
    lines.push(
      `  ${paint.bold('gen runner enrol --label NAME')}   where agents cannot read the runner's key`,
    );
  if (foreignLog !== null)
    lines.push(
      `  ${paint.bold(`gen import --foreign ${singleLine(foreignLog)}`)}   import the log of another tool`,
    );
  if (!hasWrittenIntent)
    lines.push(`  ${paint.bold('write specification/INTENT.md')}   what the project is for`);
  return [
    ...lines,
    `  ${paint.bold('gen start')}                       show the next step`,
    `  ${paint.bold('gen up')}                          serve agents over HTTP and through inboxes`,
  ];
}
