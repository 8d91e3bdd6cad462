import { existsSync, readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;

/**
 * Completes the licences that Vite collects: adds the notice of a package, and the licences of code that a package has
 * bundled.
 */
export const notices = (fileName: string): Plugin => ({
  name: 'notices',
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      const licences = bundle[fileName];
      if (licences?.type !== 'asset')
        throw new Error(`The build has not written ${fileName}. Set license.fileName in vite.config.ts.`);
      const chunks = Object.values(bundle).filter((output) => output.type === 'chunk');
      const modules = chunks.flatMap(({ moduleIds }) => moduleIds.map((id) => id.replace(/[?#].*$/, '')));
      const files = modules.flatMap((path) => {
        const [folder] = PACKAGE_FOLDER.exec(path) ?? [];
        return folder === undefined ? [] : [`${folder}/NOTICE`, `${path}.LICENSE.txt`];
      });
      const existingFiles = [...new Set(files)].sort().filter((file) => existsSync(file));
      const texts = existingFiles.map((file) => {
        const name = file.slice(file.lastIndexOf('/node_modules/') + '/node_modules/'.length);
        return `\n## ${name}\n\n${readFileSync(file, 'utf8').trim()}\n`;
      });
      licences.source = `${licences.source}${texts.join('')}`;
    },
  },
});
