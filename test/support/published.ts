import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { copyAssets } from '../../scripts/assets.js';

const run = promisify(execFile);

/** Generated folders of a checkout, besides hidden ones; none of them can be published. */
const NEVER_PUBLISHED = ['coverage', 'dist', 'node_modules'];
/** Packages for the databases and the MCP example; linked from this checkout, so that nothing is downloaded twice. */
const OPTIONAL_PACKAGES = [
  '@aws-sdk/client-dynamodb',
  '@modelcontextprotocol/client',
  '@types/node',
  '@types/pg',
  'mysql2',
  'pg',
  'redis',
];

interface PackageManifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string>>;
}

/** The package as a user has it after installation. */
export interface PublishedPackage {
  readonly manifest: PackageManifest;
  /** The paths of all files in the tarball. */
  readonly files: readonly string[];
  /** A project with the package and its dependencies. Of the optional packages it has only the types of Node. */
  readonly bareProject: string;
  /** A project that also has all optional packages. */
  readonly fullProject: string;
}

/** Builds, packs and installs this checkout below `folder`. */
export async function publishInto(folder: string): Promise<PublishedPackage> {
  const source = join(folder, 'package');
  await copyCheckout(source);
  await build(join(source, 'dist'));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: source,
  });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  const bareProject = await installPackage(join(folder, 'bare'), join(folder, filename));
  return {
    manifest: JSON.parse(await readFile(join(bareProject, PACKAGE, 'package.json'), 'utf8')),
    files: files.map(({ path }) => path),
    bareProject,
    fullProject: await installOptional(bareProject),
  };
}

/** Path of the package in a project. */
export const PACKAGE = 'node_modules/genesis-fleet';

/** Builds as `npm run build` does, but without type checks, which `npm run check` covers. */
async function build(outDir: string): Promise<void> {
  const tsc = resolve('node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', outDir]);
  copyAssets('src', outDir);
}

/** Copies the checkout, with files that must not be published, so that only the manifest keeps them out. */
async function copyCheckout(to: string): Promise<void> {
  for (const entry of await readdir('.', { withFileTypes: true })) {
    const isHidden = entry.isDirectory() && entry.name.startsWith('.');
    if (isHidden || NEVER_PUBLISHED.includes(entry.name)) continue;
    await cp(entry.name, join(to, entry.name), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    });
  }
}

async function installPackage(projectFolder: string, tarball: string): Promise<string> {
  await mkdir(projectFolder);
  await writeFile(join(projectFolder, 'package.json'), '{"name":"bare","private":true,"type":"module"}\n');
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...quietly, tarball], { cwd: projectFolder });
  await link(projectFolder, '@types/node');
  return projectFolder;
}

/** A project with all optional packages, nested in the bare project, where Node also finds the packages of that project. */
async function installOptional(bareProject: string): Promise<string> {
  const fullProject = join(bareProject, 'full');
  await cp(join(bareProject, PACKAGE), join(fullProject, PACKAGE), { recursive: true });
  await cp(join(bareProject, 'package.json'), join(fullProject, 'package.json'));
  for (const name of OPTIONAL_PACKAGES) await link(fullProject, name);
  return fullProject;
}

async function link(projectFolder: string, name: string): Promise<void> {
  const linkPath = join(projectFolder, 'node_modules', name);
  await mkdir(dirname(linkPath), { recursive: true });
  await symlink(resolve('node_modules', name), linkPath);
}
