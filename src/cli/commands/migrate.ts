import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiKey } from '../../coordinator/wire/index.js';
import { STORE_FILE } from '../../stores/file/layout.js';
import type { Migrator } from '../../stores/migrator.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { bindKeys } from '../migrate/bind-keys.js';
import { startProgress } from '../output/progress.js';
import { countText, singleLine } from '../output/text.js';
import { defaultStore, folderOfStore, workspaceOf } from '../store.js';
import { throwUserError } from '../user-errors.js';

interface MigrateOptions {
  readonly store?: string;
  readonly status?: true;
  readonly dryRun?: true;
}

/** What one store needs, or what the migration did to it. */
interface StoreMigrationReport {
  readonly store: string;
  readonly found: number;
  readonly wanted: number;
  readonly steps: readonly { readonly version: number; readonly name: string }[];
  /** Keys created before keys were bound to their store. */
  readonly keys: readonly ApiKey[];
  /** Lines missing from the workspace's `.gitignore`. */
  readonly ignores: readonly string[];
}

const EMPTY_REPORT = { found: 0, wanted: 0, steps: [], keys: [], ignores: [] };

export const addMigrate: AddCommands = (program, wrapAction) => {
  program
    .command('migrate')
    .description(
      'bring a store to what this program speaks: the schema of a database, the keys, the .gitignore of a workspace',
    )
    .option('--store <url>', 'the store, where it is not GENESIS_STORE')
    .option('--status', 'only say how it stands; exit 1 where something is to be done')
    .option('--dry-run', 'only show the statements that would run')
    .addHelpText(
      'after',
      '\nMany may run it at once: the steps are taken once. Keys from before keys were bound to their store are bound, except\nin a workspace, whose log may come from elsewhere: create new ones there (gen key create). In a workspace the missing\nlines are added to .gitignore. With routes:./tenants.yml every store that the file names is migrated, and that of the\ntenant: --tenant ID, or several with commas between them.\n\nExamples:\n  gen migrate --store postgres://fleet@localhost/fleet\n  gen migrate --status\n  gen migrate --dry-run > migration.sql',
    )
    .action(wrapAction(migrate));
};

async function migrate(context: CommandContext, options: MigrateOptions): Promise<void> {
  const url = options.store ?? defaultStore(context.io);
  const reports: StoreMigrationReport[] = [];
  for (const each of await urlsOf(context, url)) reports.push(await migrateOne(context, each, options));
  if (options.dryRun === true) return;
  context.show({ stores: reports }, () => reports.map((each) => reportText(each, options)).join('\n'));
  if (options.status === true && !reports.every(isDone)) context.exit_code = EXIT.refused;
}

async function migrateOne(
  context: CommandContext,
  url: string,
  options: MigrateOptions,
): Promise<StoreMigrationReport> {
  const { withoutPassword } = await import('../../server/store-url.js');
  const store = withoutPassword(url);
  const workspace = workspaceOf(context.io, url);
  if (workspace !== null) {
    return { ...EMPTY_REPORT, store, ignores: await migrateWorkspace(context, store, workspace, options) };
  }
  const migrator = await migratorOf(url);
  const schema = migrator === null ? EMPTY_REPORT : await migrateSchema(context, store, migrator, options);
  // A schema that does not exist yet holds no keys, and one with pending steps cannot be read.
  const isReady = hasStore(context, url) && (isWriting(options) || schema.steps.length === 0);
  const keys = isReady ? await bindKeys(context, url, !isWriting(options)) : [];
  if (options.dryRun === true && keys.length > 0) {
    context.show({ store, keys }, () =>
      keys.map((key) => `-- bind the key ${singleLine(keyText(key))}`).join('\n'),
    );
  }
  return { store, ...EMPTY_REPORT, ...schema, keys };
}

/** Whether the store exists. Opening it to look for keys would create it. */
function hasStore({ io }: CommandContext, url: string): boolean {
  const folder = folderOfStore(io, url);
  return folder === null ? url !== 'memory:' : existsSync(join(folder, STORE_FILE));
}

const isWriting = ({ status, dryRun }: MigrateOptions): boolean => status !== true && dryRun !== true;
const isDone = ({ steps, keys, ignores }: StoreMigrationReport): boolean =>
  steps.length + keys.length + ignores.length === 0;

async function migrateSchema(
  context: CommandContext,
  store: string,
  migrator: Migrator,
  options: MigrateOptions,
): Promise<Pick<StoreMigrationReport, 'found' | 'wanted' | 'steps'>> {
  try {
    if (options.dryRun !== true) return await runMigrator(context, migrator, options);
    return { ...EMPTY_REPORT, steps: await showStatements(context, store, migrator) };
  } finally {
    await migrator.close();
  }
}

/**
 * Adds the missing `.gitignore` lines. A workspace log has no schema, and its keys stay unbound because they may
 * have come with the repository.
 */
async function migrateWorkspace(
  context: CommandContext,
  store: string,
  workspace: Workspace,
  options: MigrateOptions,
): Promise<StoreMigrationReport['ignores']> {
  const { addMissingIgnores, missingIgnores } = await import('../../workspace/git-ignore.js');
  if (isWriting(options)) return addMissingIgnores(workspace).catch(throwUserError);
  const ignores = missingIgnores(workspace);
  if (options.dryRun === true && ignores.length > 0) {
    context.show({ store, ignores }, () => ignores.map((line) => `-- add to .gitignore: ${line}`).join('\n'));
  }
  return ignores;
}

async function urlsOf({ tenant }: CommandContext, url: string): Promise<string[]> {
  const { isRoutesUrl: isRoutes, readRoutesUrl: routesOf } = await import('../../server/store-url.js');
  if (!isRoutes(url)) return [url];
  const { defaultUrl: mainUrl, tenantIds: named, urlOf } = await routesOf(url).catch(throwUserError);
  const tenants = [...named, ...tenant.split(',')];
  return [...new Set([mainUrl, ...tenants.map(urlOf)])];
}

async function migratorOf(url: string): Promise<Migrator | null> {
  const { engineOf } = await import('../../stores/engines.js');
  const engine = await engineOf(url);
  if (engine !== null) return engine.migrator(url).catch(throwUserError);
  if (url === 'memory:' || url.startsWith('file:')) return null;
  throw new CommandFailure(
    'This is no store. Say --store postgres://…, mysql://…, redis://…, dynamodb://…, file:./folder or workspace:./project.',
  );
}

async function runMigrator(context: CommandContext, migrator: Migrator, { status }: MigrateOptions) {
  const before = await migrator.status().catch(throwUserError);
  if (status === true) return { ...before, steps: await migrator.pending().catch(throwUserError) };
  const spinner = startProgress(context.io, 'migrating');
  try {
    return { ...before, steps: await migrator.up().catch(throwUserError) };
  } finally {
    spinner.stop();
  }
}

async function showStatements(
  context: CommandContext,
  store: string,
  migrator: Migrator,
): Promise<StoreMigrationReport['steps']> {
  const steps = await migrator.pending().catch(throwUserError);
  context.show({ store, steps }, () =>
    steps.length === 0
      ? `-- ${store}: nothing to do`
      : steps
          .map(({ version, name, statements }) => `-- ${version} ${name}\n${statements.join(';\n')};`)
          .join('\n\n'),
  );
  return steps;
}

function reportText(report: StoreMigrationReport, options: MigrateOptions): string {
  const { store, wanted } = report;
  if (isDone(report)) return `${store}: ${wanted === 0 ? '' : `at version ${wanted}, `}nothing to do.`;
  return [stepsText(report, options), keysText(report, options), ignoresText(report, options)]
    .filter((text) => text !== '')
    .join('\n');
}

function stepsText(
  { store, found, wanted, steps }: StoreMigrationReport,
  { status }: MigrateOptions,
): string {
  if (steps.length === 0) return '';
  const names = steps.map(({ version, name }) => `  ${version} ${name}`).join('\n');
  return status === true
    ? `${store}: at version ${found} of ${wanted}. To be done (gen migrate):\n${names}`
    : `${store}: ${countText(steps.length, 'step')} taken, now at version ${wanted}.\n${names}`;
}

/** Lists every key by name: anyone who could write to the store before keys were bound may have added one. */
function keysText({ store, keys }: StoreMigrationReport, { status }: MigrateOptions): string {
  if (keys.length === 0) return '';
  const done = status === true ? 'to be bound to this store (gen migrate)' : 'bound to this store';
  const names = keys.map((key) => `  ${singleLine(keyText(key))}`).join('\n');
  return `${store}: ${countText(keys.length, 'key')} ${done}. Revoke those you do not know (gen key revoke):\n${names}`;
}

const keyText = ({ key_id, role, tenant_id, label, created_at, created_by }: ApiKey): string =>
  `${key_id} ${role} of ${tenant_id ?? 'the platform'}${label === null ? '' : ` (${label})`}, created ${created_at} by ${created_by}`;

function ignoresText({ store, ignores }: StoreMigrationReport, { status }: MigrateOptions): string {
  if (ignores.length === 0) return '';
  const done = status === true ? 'To be added to .gitignore (gen migrate)' : 'Added to .gitignore';
  return `${store}: ${done}: ${ignores.join(', ')}`;
}
