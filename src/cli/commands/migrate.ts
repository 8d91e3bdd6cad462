import type { Migrator } from '../../stores/migrator.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { progress } from '../output/progress.js';
import { count } from '../output/text.js';
import { spoken } from '../spoken.js';
import { defaultStore } from '../store.js';

interface MigrateOptions {
  readonly store?: string;
  readonly status?: true;
  readonly dryRun?: true;
}

/** How one store stands, or what was done to it. */
interface Standing {
  readonly store: string;
  readonly found: number;
  readonly wanted: number;
  readonly steps: readonly { readonly version: number; readonly name: string }[];
}

export const addMigrate: AddCommands = (program, act) => {
  program
    .command('migrate')
    .description('bring the schema of a database to what this program speaks')
    .option('--store <url>', 'the store, where it is not GENESIS_STORE')
    .option('--status', 'only say how it stands; exit 1 where something is to be done')
    .option('--dry-run', 'only show the statements that would run')
    .addHelpText(
      'after',
      '\nMany may run it at once: the steps are taken once. With routes:./tenants.yml every store that the file names is\nmigrated, and that of the tenant: --tenant ID, or several with commas between them.\n\nExamples:\n  gen migrate --store postgres://fleet@localhost/fleet\n  gen migrate --status\n  gen migrate --dry-run > migration.sql',
    )
    .action(act(migrate));
};

async function migrate(context: Context, options: MigrateOptions): Promise<void> {
  const url = options.store ?? defaultStore(context.io);
  const { withoutPassword } = await import('../../server/store-url.js');
  const standings: Standing[] = [];
  for (const each of await urlsOf(context, url)) {
    const migrator = await migratorOf(each);
    if (migrator === null) {
      context.remark(`${withoutPassword(each)} has no schema: there is nothing to migrate.`);
      continue;
    }
    const store = withoutPassword(each);
    try {
      if (options.dryRun === true) await showStatements(context, store, migrator);
      else standings.push({ store, ...(await standing(context, migrator, options)) });
    } finally {
      await migrator.close();
    }
  }
  if (options.dryRun === true) return;
  context.show({ stores: standings }, () => standings.map((each) => sentence(each, options)).join('\n'));
  if (options.status === true && standings.some(({ steps }) => steps.length > 0)) {
    context.exit_code = EXIT.refused;
  }
}

async function urlsOf({ tenant }: Context, url: string): Promise<string[]> {
  const { isRoutes, routesOf } = await import('../../server/store-url.js');
  if (!isRoutes(url)) return [url];
  const { main_url, named, urlOf } = await routesOf(url).catch(spoken);
  const tenants = [...named, ...tenant.split(',')];
  return [...new Set([main_url, ...tenants.map(urlOf)])];
}

async function migratorOf(url: string): Promise<Migrator | null> {
  const { engineOf } = await import('../../stores/engines.js');
  const engine = await engineOf(url);
  if (engine !== null) return engine.migrator(url).catch(spoken);
  if (url === 'memory:' || url.startsWith('file:')) return null;
  throw new CommandFailure(
    'This is no store. Say --store postgres://…, mysql://…, redis://… or dynamodb://….',
  );
}

async function standing(context: Context, migrator: Migrator, { status }: MigrateOptions) {
  const before = await migrator.status().catch(spoken);
  if (status === true) return { ...before, steps: await migrator.pending().catch(spoken) };
  const waiting = progress(context.io, 'migrating');
  try {
    return { ...before, steps: await migrator.up().catch(spoken) };
  } finally {
    waiting.stop();
  }
}

async function showStatements(context: Context, store: string, migrator: Migrator): Promise<void> {
  const steps = await migrator.pending().catch(spoken);
  context.show({ store, steps }, () =>
    steps.length === 0
      ? `-- ${store}: nothing to do`
      : steps
          .map(({ version, name, statements }) => `-- ${version} ${name}\n${statements.join(';\n')};`)
          .join('\n\n'),
  );
}

function sentence({ store, found, wanted, steps }: Standing, { status }: MigrateOptions): string {
  if (steps.length === 0) return `${store}: at version ${wanted}, nothing to do.`;
  const names = steps.map(({ version, name }) => `  ${version} ${name}`).join('\n');
  return status === true
    ? `${store}: at version ${found} of ${wanted}. To be done (gen migrate):\n${names}`
    : `${store}: ${count(steps.length, 'step')} taken, now at version ${wanted}.\n${names}`;
}
