import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { RequestHandler } from 'express';

interface Asset {
  type: string;
  content: Buffer;
  version: string;
}

const folder = join(import.meta.dirname, '../../assets/console');
const chartLibrary = join(dirname(createRequire(import.meta.url).resolve('chart.js')), 'chart.umd.min.js');

function read(path: string, type: string): Asset {
  const content = readFileSync(path);
  const version = createHash('sha256').update(content).digest('hex').slice(0, 12);
  return { type: `${type}; charset=utf-8`, content, version };
}

const assets = {
  'console.css': read(join(folder, 'console.css'), 'text/css'),
  'charts.js': read(join(folder, 'charts.js'), 'text/javascript'),
  'chart-library.js': read(chartLibrary, 'text/javascript'),
  'icon.svg': read(join(folder, 'icon.svg'), 'image/svg+xml'),
};

export type AssetName = keyof typeof assets;

/** The address of an asset. It changes with the content, so that a browser may cache it forever. */
export const assetUrl = (name: AssetName) => `/console/assets/${name}?v=${assets[name].version}`;

/** Serves one of the assets. */
export function serveAsset(name: AssetName): RequestHandler {
  const { type, content, version } = assets[name];
  return (req, res) => {
    const age = req.query.v === version ? 'max-age=31536000, immutable' : 'no-cache';
    res.setHeader('Cache-Control', `private, ${age}`);
    res.setHeader('Content-Type', type);
    res.end(content);
  };
}
