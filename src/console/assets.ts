import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { RequestHandler } from 'express';

const folder = join(import.meta.dirname, '../../assets/console');

function read(path: string) {
  const identity = readFileSync(path);
  const version = createHash('sha256').update(identity).digest('hex').slice(0, 12);
  return { version, content: { identity, gzip: gzipSync(identity, { level: 9 }) } };
}

const assets = {
  'console.css': read(join(folder, 'console.css')),
  'console.js': read(join(folder, 'console.js')),
  'icon.svg': read(join(folder, 'icon.svg')),
};

type AssetName = keyof typeof assets;
export const assetNames = Object.keys(assets) as AssetName[];

/** The address of an asset. It changes with the content, so that a browser may cache it forever. */
export const assetUrl = (name: AssetName) => `/console/assets/${name}?v=${assets[name].version}`;

export function serveAsset(name: AssetName): RequestHandler {
  const { content, version } = assets[name];
  return (req, res) => {
    const age = req.query.v === version ? 'max-age=31536000, immutable' : 'no-cache';
    const encoding = req.acceptsEncodings('gzip') ? 'gzip' : 'identity';
    res.set({
      'Cache-Control': `private, ${age}`,
      Vary: 'Accept-Encoding',
      ETag: `"${version}-${encoding}"`,
    });
    if (req.fresh) return void res.status(304).end();
    if (encoding !== 'identity') res.set('Content-Encoding', encoding);
    res.type(name).set('Content-Length', String(content[encoding].length)).end(content[encoding]);
  };
}
